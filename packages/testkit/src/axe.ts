/** What axe-core finds fault with on a page: for pages that anybody must be able to use. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { CDPSession, Page } from 'playwright-core';

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Each rule that is broken, with the elements that break it. @param options of `axe.run`, as `{ runOnly: ['color-contrast'] }` */
export async function violationsOf(page: Page, options: object = {}): Promise<string[]> {
  // By the protocol: the policy of the page keeps a test's script out, too.
  const session = await page.context().newCDPSession(page);
  // A page that has it keeps it until the next one is loaded: it is half a megabyte to read.
  if (!(await evaluate(session, "typeof axe === 'object'"))) await evaluate(session, `${source}; true`);
  // It is spared what only its own report shows: rules that are kept, and selectors.
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
