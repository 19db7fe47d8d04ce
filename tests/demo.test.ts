/// <reference lib="dom" />
/** The demo application in Chromium, against the whole system: what a newcomer tries third. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launchOptions, patienceMs } from '@gatepost/testkit/chromium';
import { freePorts, openSystem } from '@gatepost/testkit/system';
import { afterAll, expect, test } from '@jest/globals';
import { chromium } from 'playwright-core';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());

const [port] = await freePorts(1);
const seedFile = join(mkdtempSync(join(tmpdir(), 'demo-')), 'seed.yaml');
const demo = readFileSync(new URL('../infra/demo/seed.yaml', import.meta.url), 'utf8');
writeFileSync(seedFile, demo.replaceAll('localhost:4599', `localhost:${port}`));
const system = stack.use(await openSystem({ seedFile }));
const app = spawn(process.execPath, ['--conditions=source', 'demo/app/main.ts'], {
  cwd: fileURLToPath(new URL('../infra', import.meta.url)),
  env: {
    PATH: process.env.PATH ?? '',
    ISSUER: system.issuer,
    WEBHOOK_API_URL: system.apiUrl,
    AMQP_URL: system.amqpUrl,
    DEMO_PORT: String(port),
  } as NodeJS.ProcessEnv,
  stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
});
const ended = once(app, 'exit');
stack.defer(async () => {
  app.kill();
  await ended;
});
const [said] = await Promise.race([once(app, 'message'), ended]);
if (said !== 'ready') throw new Error(`the demo application ended with ${said}`);
const browser = stack.adopt(await chromium.launch(launchOptions), (opened) => opened.close());

test('alice logs in, sees her claims, calls the webhook API, watches a webhook arrive with its signature, and logs out', async () => {
  const context = await browser.newContext();
  context.setDefaultTimeout(patienceMs);
  const page = await context.newPage();
  await page.goto(`http://localhost:${port}/`);
  await page.click('text=Log in');
  await page.fill('[name=identifier]', 'alice@example.com');
  await page.click('.gp-main');
  await page.fill('[name=password]', 'correct horse battery staple');
  await page.click('.gp-main');
  await page.click('form:has(.gp-second[value=deny]) .gp-main'); // her consent
  await page.waitForSelector('text=Signed in as Alice Example');
  expect(await page.textContent('body')).toContain('"sub": "auth0|alice"');
  expect(await page.textContent('body')).toContain('"aud": [');

  await page.click('text=List the hooks of acme/widgets');
  await page.waitForSelector('text=The webhook API answered 200');
  await page.click('text=Have its webhooks sent here');
  await page.waitForSelector('text=The webhook API answered 201');
  const row = page.locator('#arrived tr', { hasText: 'issues' });
  await page.click('text=Publish an event');
  await row.first().waitFor();
  expect(await row.first().textContent()).toMatch(/right$/);

  await page.click('text=Log out');
  await page.waitForSelector('text=You are not signed in');
  await context.close();
});
