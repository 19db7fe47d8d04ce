/** How alice signs in, in a real browser. */
import type { Page } from 'playwright-core';
import { alice } from './seeds.ts';

/** Alice logs in with her password, on the page that asks for her address. */
export async function logIn(page: Page): Promise<void> {
  await page.fill('[name=identifier]', alice.email);
  await page.click('.gp-main');
  await page.fill('[name=password]', alice.password);
  await page.click('.gp-main');
}
