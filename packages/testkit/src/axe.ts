/** The faults that axe-core finds on a page, for pages that everybody must be able to use. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { CDPSession, Page } from 'playwright-core';

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Each broken rule, with the elements that break it. @param options of `axe.run`, as `{ runOnly: ['color-contrast'] }` */
export async function violationsOf(page: Page, options: object = {}): Promise<string[]> {
  // Through the protocol, because the page's policy blocks a test's script too.
  const session = await page.context().newCDPSession(page);
  // Loaded once per page: it is half a megabyte.
  if (!(await evaluate(session, "typeof axe === 'object'"))) await evaluate(session, `${source}; true`);
  // Skips what only its own report shows: passed rules and selectors.
  const given = JSON.stringify({ resultTypes: ['violations'], selectors: false, ...options });
  const found = await evaluate(
    session,
    `axe.run(${given}).then(({ violations }) =>
      violations.map(({ id, nodes }) => id + ' ' + nodes.map(({ html }) => html).join(' ')))`,
  );
  await session.detach();
  return found as string[];
}

async function evaluate(session: CDPSession, expression: string): Promise<unknown> {
  const asked = { expression, awaitPromise: true, returnByValue: true };
  const { result, exceptionDetails } = await session.send('Runtime.evaluate', asked);
  if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  return result.value;
}
