/// <reference lib="dom" />
/** The console in Chromium, against the whole system with the demo's seed: for tests that use it as a person does. */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launchOptions, patienceMs } from '@gatepost/testkit/chromium';
import { freePorts, openSystem, type System, type SystemOptions } from '@gatepost/testkit/system';
import { type BrowserContextOptions, chromium, type Page } from 'playwright-core';

export type Console = AsyncDisposable & {
  system: System;
  /** Its address, with the slash. */
  url: string;
  /** Somebody's browser: who is signed in in one is not in another. */
  openPage(options?: BrowserContextOptions): Promise<Page>;
};

export async function openConsole(options: Omit<SystemOptions, 'seedFile' | 'apiPort'> = {}): Promise<Console> {
  await using opening = new AsyncDisposableStack();
  const [apiPort] = await freePorts(1);
  const seedFile = join(mkdtempSync(join(tmpdir(), 'console-')), 'seed.yaml');
  const demo = readFileSync(new URL('../../infra/demo/seed.yaml', import.meta.url), 'utf8');
  writeFileSync(seedFile, demo.replaceAll(/localhost:4500(?=\/console|")/g, `localhost:${apiPort}`));
  const system = opening.use(await openSystem({ ...options, seedFile, apiPort: apiPort! }));
  const browser = opening.adopt(await chromium.launch(launchOptions), (opened) => opened.close());
  const open = opening.move();
  return {
    system,
    url: `http://localhost:${apiPort}/console/`,
    async openPage(pageOptions = {}) {
      const permissions = ['clipboard-read', 'clipboard-write'];
      const context = await browser.newContext({ permissions, ...pageOptions });
      context.setDefaultTimeout(patienceMs);
      return context.newPage();
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

/** Opens an address of the console; the gate asks who it is on the way. */
export async function signIn(page: Page, address: string, email = 'alice@example.com'): Promise<void> {
  await page.goto(address);
  await page.fill('[name=identifier]', email);
  await page.click('.gp-main');
  await page.fill('[name=password]', 'correct horse battery staple');
  await page.click('.gp-main');
  await page.waitForSelector('#content');
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe-core finds on the page as it is, and whether it is wider than its window. */
export async function faultsOf(page: Page): Promise<string[]> {
  // The policy of the page keeps a test's script out, too.
  const session = await page.context().newCDPSession(page);
  const run = `${axe}; axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
    JSON.stringify(violations.map(({ id, nodes }) => id + ' ' + nodes.map(({ target }) => target).join(', '))))`;
  const { result } = await session.send('Runtime.evaluate', { expression: run, awaitPromise: true });
  await session.detach();
  const isTooWide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
  return [...JSON.parse(String(result.value)), ...(isTooWide ? ['it is wider than the window'] : [])];
}
