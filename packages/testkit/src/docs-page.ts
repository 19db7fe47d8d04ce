/** A documentation page in a real browser: its violations, and where its links lead. */
import type { Browser, Page } from 'playwright-core';
import { patienceMs } from './chromium.ts';

/** Opens a page, hands it over, and reports anything forbidden that it did: breaking its policy, failing, or contacting another host. */
export async function inDocs(browser: Browser, url: string, look: (page: Page) => Promise<void>): Promise<string[]> {
  const context = await browser.newContext();
  context.setDefaultTimeout(patienceMs);
  const page = await context.newPage();
  const troubles: string[] = [];
  page.on('console', (message) => message.type() === 'error' && troubles.push(message.text()));
  page.on('pageerror', (error) => troubles.push(error.message));
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url());
    if (origin !== new URL(url).origin && protocol !== 'data:') troubles.push(`asked ${request.url()}`);
  });
  try {
    await page.goto(url);
    await page.locator('h1').first().waitFor();
    await look(page);
  } finally {
    await context.close();
  }
  return troubles;
}

/** Waits until the page shows an anchor's target after a fresh load, as by a link from elsewhere. */
export async function followAnchor(page: Page, url: string): Promise<string> {
  await page.goto('about:blank');
  return moveToAnchor(page, url);
}

/** The same within a loaded page, as by one of its own links: it is not drawn again, which takes seconds. */
export async function moveToAnchor(page: Page, url: string): Promise<string> {
  const id = new URL(url).hash.slice(1);
  await page.goto(url);
  const heading = page.locator(`[id="${id}"]`).locator('h1, h2').first();
  await heading.waitFor();
  // The page scrolls there only once everything is drawn.
  await page.waitForFunction(
    `Math.abs(document.getElementById(${JSON.stringify(id)}).getBoundingClientRect().top) < innerHeight`,
    undefined,
    { polling: 500 }, // not with each frame: each look makes the page lay itself out
  );
  return ((await heading.textContent()) ?? '').trim();
}
