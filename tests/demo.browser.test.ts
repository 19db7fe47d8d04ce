/// <reference lib="dom" />
/** The demo application and a quick start in Chromium, against the whole system, as a newcomer tries them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launchOptions, patienceMs } from '@gatepost/testkit/chromium';
import { freePorts, openSystem } from '@gatepost/testkit/system';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import { chromium } from 'playwright-core';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());

const [port, quickStartPort] = await freePorts(2);
const folder = mkdtempSync(join(tmpdir(), 'demo-'));
const seedFile = join(folder, 'seed.yaml');
const demo = readFileSync(new URL('../infra/demo/seed.yaml', import.meta.url), 'utf8');
writeFileSync(
  seedFile,
  demo.replaceAll('localhost:4599', `localhost:${port}`).replaceAll('localhost:4701', `localhost:${quickStartPort}`),
);
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

test('the Express quick start signs alice in, answers a machine at its API, and takes webhooks with the right signature only', async () => {
  // As in examples/, except for its port; the packages are those of infra.
  const source = readFileSync(new URL('../examples/express/server.js', import.meta.url), 'utf8');
  writeFileSync(join(folder, 'server.mjs'), source.replace('4701', String(quickStartPort)));
  symlinkSync(fileURLToPath(new URL('../infra/node_modules', import.meta.url)), join(folder, 'node_modules'));
  const server = spawn(process.execPath, ['server.mjs'], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', ISSUER: system.issuer } as NodeJS.ProcessEnv,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  stack.defer(() => void server.kill());
  let output = '';
  server.stdout.on('data', (chunk) => {
    output += chunk;
  });
  const says = (text: string) => until(`${text} in the output of the quick start`, () => output.includes(text));
  const base = `http://localhost:${quickStartPort}`;
  await says(base);

  const context = await browser.newContext();
  context.setDefaultTimeout(patienceMs);
  const page = await context.newPage();
  await page.goto(base);
  await page.click('text=Log in');
  await page.fill('[name=identifier]', 'alice@example.com');
  await page.click('.gp-main');
  await page.fill('[name=password]', 'correct horse battery staple');
  await page.click('.gp-main');
  await page.waitForSelector('text=Signed in as Alice Example');
  await page.click('text=Log out');
  await page.waitForSelector('text=Log in');
  await context.close();

  const form = { grant_type: 'client_credentials', client_id: 'demo-m2m', client_secret: 'demo-m2m-secret' };
  const body = new URLSearchParams({ ...form, audience: 'https://api.example/' });
  const granted = await (await fetch(`${system.issuer}oauth/token`, { method: 'POST', body })).json();
  const things = (token: string) => fetch(`${base}/api/things`, { headers: { authorization: `Bearer ${token}` } });
  expect(await (await things((granted as { access_token: string }).access_token)).json()).toMatchObject({
    caller: 'demo-m2m',
  });
  expect((await things(await system.token())).status).toBe(401); // for another API

  const url = `http://127.0.0.2:${quickStartPort}/webhook`;
  const made = await fetch(`${system.apiUrl}/repos/acme/widgets/hooks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await system.token()}`, 'user-agent': 'test' },
    body: JSON.stringify({ events: ['push'], config: { url, content_type: 'json', secret: 'quick start secret' } }),
  });
  expect(made.status).toBe(201);
  await says('webhook: ping');
  const forged = { 'x-github-event': 'push', 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` };
  expect((await fetch(url, { method: 'POST', headers: forged, body: '{}' })).status).toBe(401);
});

test.each(['the demo application', 'the Express quick start'])(
  '%s says that a sign-in was refused, or went on in another tab, and leads to a new one',
  async (which) => {
    const base = `http://localhost:${which === 'the demo application' ? port : quickStartPort}`;
    const context = await browser.newContext();
    context.setDefaultTimeout(patienceMs);
    const page = await context.newPage();
    const says = async (text: RegExp) => {
      await page.getByText(text).waitFor();
      expect(await page.content()).not.toMatch(/node_modules|file:\/\//);
      await page.getByRole('link', { name: 'Log in again' }).click();
      await page.waitForSelector('[name=identifier]');
    };
    // As the gate answers "Don't allow".
    const [asked] = await Promise.all([page.waitForRequest(/\/authorize\?/), page.goto(`${base}/login`)]);
    const state = new URL(asked.url()).searchParams.get('state')!;
    const refusal = { error: 'access_denied', error_description: 'they <refused>', state, iss: system.issuer };
    await page.goto(`${base}/callback?${new URLSearchParams(refusal)}`);
    await says(/Signing in did not work.*they <refused>/);
    await page.goto(`${base}/callback?code=of-another-tab&state=another`);
    await says(/Signing in did not work/);
    await context.close();
  },
);
