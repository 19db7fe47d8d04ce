/// <reference lib="dom" />
/** The console in Chromium, against the whole system, as an admin and a member use it. */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launchOptions, patienceMs } from '@gatepost/testkit/chromium';
import { openReceiver } from '@gatepost/testkit/receiver';
import { freePorts, openSystem } from '@gatepost/testkit/system';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import { type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());

const [apiPort] = await freePorts(1);
const seedFile = join(mkdtempSync(join(tmpdir(), 'console-')), 'seed.yaml');
const demo = readFileSync(new URL('../infra/demo/seed.yaml', import.meta.url), 'utf8');
writeFileSync(seedFile, demo.replaceAll(/localhost:4500(?=\/console|")/g, `localhost:${apiPort}`));
const system = stack.use(await openSystem({ seedFile, apiPort: apiPort! }));
const console = `http://localhost:${apiPort}/console/`;
const browser = stack.adopt(await chromium.launch(launchOptions), (opened) => opened.close());
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

async function openPage(options: BrowserContextOptions = {}): Promise<Page> {
  const context = stack.use(
    await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'], ...options }),
  );
  context.setDefaultTimeout(patienceMs);
  return context.newPage();
}

/** Opens an address of the console; the gate asks who it is on the way. */
async function signIn(page: Page, address: string): Promise<void> {
  await page.goto(address);
  await page.fill('[name=identifier]', 'alice@example.com');
  await page.click('.gp-main');
  await page.fill('[name=password]', 'correct horse battery staple');
  await page.click('.gp-main');
  await page.waitForSelector('#content');
}

/** What axe-core finds on the page as it is, and whether it is wider than its window. */
async function faultsOf(page: Page): Promise<string[]> {
  // The policy of the page keeps a test's script out, too.
  const session = await page.context().newCDPSession(page);
  const run = `${axe}; axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
    JSON.stringify(violations.map(({ id, nodes }) => id + ' ' + nodes.map(({ target }) => target).join(', '))))`;
  const { result } = await session.send('Runtime.evaluate', { expression: run, awaitPromise: true });
  await session.detach();
  const isTooWide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
  return [...JSON.parse(String(result.value)), ...(isTooWide ? ['it is wider than the window'] : [])];
}

test('an admin makes a hook, watches deliveries arrive, reads why one failed, and has it delivered again', async () => {
  await using receiver = await openReceiver();
  const page = await openPage();
  const complaints: string[] = [];
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  await signIn(page, console);
  await page.waitForURL('**/accounts/acme'); // her only one
  await page.getByText('Alice Example').waitFor();
  await page.getByRole('region', { name: 'widgets' }).getByText('No hooks yet.').waitFor();
  expect(await faultsOf(page)).toEqual([]);

  await page.getByRole('region', { name: 'widgets' }).getByRole('link', { name: 'New hook' }).click();
  await page.getByLabel('Payload URL').fill(`${receiver.url}/hook`);
  await page.getByLabel('Find an event').fill('issue was opened');
  await page.getByText('issues', { exact: true }).click();
  expect(await faultsOf(page)).toEqual([]);
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('heading', { name: `${receiver.url}/hook` }).waitFor();
  await page.locator('.rows a', { hasText: 'ping' }).waitFor();
  expect(receiver.received[0]?.headers['x-hub-signature-256']).toMatch(/^sha256=/);
  expect(await faultsOf(page)).toEqual([]);

  receiver.behave({ status: 500, body: 'the disk is full' });
  await page.getByRole('button', { name: 'Ping' }).click();
  const failed = page.locator('.rows a', { hasText: 'Invalid HTTP response' });
  await failed.click(); // it came by itself
  await page.getByText('the disk is full').waitFor();
  expect(await faultsOf(page)).toEqual([]);
  await page.getByRole('button', { name: 'Copy as curl' }).click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toContain(`curl '${receiver.url}/hook'`);

  receiver.behave({});
  await page.getByRole('button', { name: 'Redeliver' }).click();
  await page.getByRole('link', { name: 'See it arrive' }).click();
  await page.locator('.rows a', { hasText: 'redelivery' }).waitFor();
  await page.getByRole('link', { name: 'failed' }).click();
  await page.locator('.rows li').first().waitFor();
  await until('only what failed', async () => (await page.locator('.rows li').count()) === 1);

  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByText('Active', { exact: true }).click();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('not active').waitFor();
  expect(await faultsOf(page)).toEqual([]);
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Delete the hook' }).click();
  await page.waitForURL('**/accounts/acme');
  await page.getByRole('region', { name: 'widgets' }).getByText('No hooks yet.').waitFor();
  expect(complaints).toEqual([]);
});

test('a signature that does not match is explained', async () => {
  const page = await openPage();
  await signIn(page, console);
  const token = await system.token();
  const made = await fetch(`${system.apiUrl}/repos/acme/gadgets/hooks`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ config: { url: 'http://127.0.0.2:9/hook', content_type: 'json', secret: 'change me' } }),
  });
  const { id } = (await made.json()) as { id: number };
  await page.goto(`${console}repos/acme/gadgets/hooks/${id}?tab=verify`); // without a word of the gate's
  await page.getByRole('button', { name: 'Python' }).click();
  await page.getByText('hmac.compare_digest').waitFor();
  await page.getByLabel('Secret').fill("It's a Secret to Everybody");
  const known = 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17';
  await page.getByLabel('X-Hub-Signature-256').fill(known);
  await page.getByLabel('Body, exactly as it came').fill('Hello, World!');
  await page.getByRole('button', { name: 'Compare' }).click();
  await page.getByText('It matches.').waitFor();
  await page.getByLabel('Body, exactly as it came').fill('Hello, World!\n');
  await page.getByRole('button', { name: 'Compare' }).click();
  await page.getByText('a line break at its end that was not sent').waitFor();
  expect(await faultsOf(page)).toEqual([]);
});

test('on a telephone in the dark nothing is cut off, and the keyboard reaches everything', async () => {
  const page = await openPage({ viewport: { width: 375, height: 700 }, colorScheme: 'dark' });
  await signIn(page, `${console}repos/acme/widgets/hooks/new`);
  await page.getByLabel('Payload URL').waitFor(); // the address that was asked for
  expect(await faultsOf(page)).toEqual([]);
  await page.goto(`${console}accounts/acme`);
  await page.getByRole('region', { name: 'widgets' }).waitFor();
  expect(await faultsOf(page)).toEqual([]);
  await page.keyboard.press('Tab');
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to the content');
  await page.getByRole('region', { name: 'widgets' }).getByRole('link', { name: 'New hook' }).focus();
  await page.keyboard.press('Enter');
  await page.getByLabel('Payload URL').waitFor();
});

test('what is not there, a session that has ended and an API that is away are said in words', async () => {
  const page = await openPage();
  await signIn(page, `${console}repos/acme/widgets/hooks/999`);
  await page.getByText('There is no such thing').waitFor();
  await page.goto(`${console}nowhere`);
  await page.getByText('There is no such page').waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.waitForSelector('[name=identifier]'); // nobody is signed in: it asks again
});

test('its pages may load nothing from elsewhere, and cannot be framed', async () => {
  const response = await fetch(console);
  const policy = response.headers.get('content-security-policy');
  expect(policy).toContain("default-src 'none'; script-src 'self'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).toContain(new URL(system.issuer).origin);
  const html = await response.text();
  const script = /src="([^"]+\.js)"/.exec(html)![1]!;
  const asset = await fetch(new URL(script, console));
  expect(asset.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
  expect((await fetch(new URL('assets/none.js', console))).status).toBe(404);
  expect((await fetch(console.slice(0, -1), { redirect: 'manual' })).status).toBe(308);
});
