/** The console in Chromium, against the whole system with the demo's seed: for tests that use it like a person. */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { violationsOf } from './axe.ts';
import { launchOptions, patienceMs } from './chromium.ts';
import { freePorts, openSystem, type System, type SystemOptions } from './system.ts';

export type Console = AsyncDisposable & {
  system: System;
  /** Its address, with a trailing slash. */
  url: string;
  /** A separate browser session, with its own sign-in. */
  openPage(options?: BrowserContextOptions): Promise<Page>;
};

type ConsoleOptions = Omit<SystemOptions, 'seedFile' | 'apiPort'> & {
  /** Changes the demo's seed. */
  adaptSeed?: (yaml: string) => string;
};

export async function openConsole({ adaptSeed = (yaml) => yaml, ...options }: ConsoleOptions = {}): Promise<Console> {
  await using opening = new AsyncDisposableStack();
  const [apiPort] = await freePorts(1);
  const seedFile = join(mkdtempSync(join(tmpdir(), 'console-')), 'seed.yaml');
  const demo = readFileSync(new URL('../../../infra/demo/seed.yaml', import.meta.url), 'utf8');
  writeFileSync(seedFile, adaptSeed(demo.replaceAll(/localhost:4500(?=\/console|")/g, `localhost:${apiPort}`)));
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

/** Opens an address of the console and signs in at the gate on the way. */
export async function signIn(page: Page, address: string, email = 'alice@example.com'): Promise<void> {
  await page.goto(address);
  await fillInLogin(page, email);
  await page.waitForSelector('#content').catch(async (cause) => {
    throw new Error(`${page.url()} shows: ${await page.locator('body').ariaSnapshot()}`, { cause });
  });
}

/** Fills in the gate's pages, in whichever window they are. The password is that of the demo's people. */
export async function fillInLogin(page: Page, email: string, password = 'correct horse battery staple'): Promise<void> {
  await page.fill('[name=identifier]', email);
  await page.click('.gp-main');
  await page.fill('[name=password]', password);
  await page.click('.gp-main');
}

/** What every page has: its place in the navigation, its heading, its panels. */
export function partsOf(page: Page) {
  return {
    go: (name: string) =>
      page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name, exact: true }).click(),
    heading: (name: string | RegExp) =>
      page
        .getByRole('heading', { level: 1, name })
        .waitFor()
        .catch(async ({ message }) => {
          throw new Error(`${message}\n${page.url()}:\n${await page.locator('#content').textContent()}`);
        }),
    panel: (name: string) => page.getByRole('region', { name, exact: true }),
  };
}

/** Checks that the page's looks shut nobody out, including on a dark phone. Leaves it wide and light. */
export async function faultsInAllLooks(page: Page): Promise<string[]> {
  const wide = await faultsOf(page);
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.setViewportSize({ width: 375, height: 700 });
  const narrow = await faultsOf(page);
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ width: 1440, height: 900 });
  return [...wide, ...narrow.map((fault) => `on a telephone in the dark: ${fault}`)];
}

/** What axe-core finds on the page as it is, and whether it is wider than its window. */
export async function faultsOf(page: Page): Promise<string[]> {
  const isTooWide = await page.evaluate<boolean>('document.documentElement.scrollWidth > window.innerWidth');
  return [...(await violationsOf(page)), ...(isTooWide ? ['it is wider than the window'] : [])];
}
