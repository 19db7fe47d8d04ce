/** `/docs` in a real browser, and where the `documentation_url` of errors leads. */
import { createHmac } from 'node:crypto';
import { launchOptions } from '@gatepost/testkit/chromium';
import { followAnchor, inDocs, moveToAnchor } from '@gatepost/testkit/docs-page';
import { findDescriptionProblems, findWithoutExample } from '@gatepost/testkit/openapi';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Browser, chromium } from 'playwright-core';
import { guides } from '../src/meta/guides.ts';
import { type Api, call, openApi } from './support/api.ts';

let api: Api;
let browser: Browser;

beforeAll(async () => {
  api = await openApi();
  browser = await chromium.launch(launchOptions);
});
afterAll(async () => {
  await browser?.close();
  await api?.[Symbol.asyncDispose]();
});

test('the description is valid OpenAPI, and each request and answer has an example that matches its schema', async () => {
  const { body } = await call(api, undefined, 'GET', '/openapi.json');
  expect(await findDescriptionProblems(body)).toEqual([]);
  expect(findWithoutExample(body.paths)).toEqual([]);
});

test.each(['', '/api/v3'])('%s/docs has a content security policy that lets in nothing of others', async (prefix) => {
  const { headers } = await call(api, undefined, 'GET', `${prefix}/docs`);
  const policy = headers.get('content-security-policy')!;
  expect(policy).toMatch(
    /^default-src 'none'; script-src 'self'; style-src ('sha256-[\w+/=]+' ?){3}; connect-src 'self'; /,
  );
  expect(policy).not.toMatch(/unsafe|https?:|\*/);
});

test('/api/v3/docs loads nothing from other origins and keeps to its policy', async () => {
  const troubles = await inDocs(browser, `${api.base}/api/v3/docs`, async (page) => {
    await page.getByRole('heading', { name: 'Verify the signature' }).waitFor();
    await page.getByRole('heading', { name: 'Create a webhook; a ping is sent to it' }).first().waitFor();
  });
  expect(troubles).toEqual([]);
});

test('the documentation_url of an error leads to the place on our page, which keeps to its policy too', async () => {
  const token = await api.tokens.machine('m2m', 'repo admin:org_hook');
  const hooks = '/repos/acme/widgets/hooks';
  const make = (url: string) => call(api, token, 'POST', hooks, { config: { url } });
  const operation = await call(api, token, 'POST', '/api/v3/orgs/acme/hooks', {});
  const guide = await call(api, 'nonsense', 'GET', hooks);
  const others = [
    [await call(api, token, 'GET', `${hooks}/999`), 'Get a webhook'],
    [await make('http://localhost/'), 'Receivers on this machine'],
    [await call(api, token, 'GET', '/nothing/here'), 'Errors'],
  ] as const;
  for (const { status, body } of [operation, guide, ...others.map(([refusal]) => refusal)]) {
    expect(status).toBeGreaterThanOrEqual(400);
    expect(body.documentation_url.startsWith(`${api.base}/`)).toBe(true);
  }
  // An operation and a guide by a link from elsewhere, the others from where the page stands.
  const troubles = await inDocs(browser, operation.body.documentation_url, async (page) => {
    expect(await moveToAnchor(page, page.url())).toBe('Create a webhook; a ping is sent to it');
    for (const [{ body }, title] of others) expect(await moveToAnchor(page, body.documentation_url)).toBe(title);
    expect(await followAnchor(page, guide.body.documentation_url)).toBe('Errors');
  });
  expect(troubles).toEqual([]);
});

test('the catalogue describes each event, including those of the installation', () => {
  const catalog = new Map([
    ['push', 'Commits were pushed'],
    ['invoice_paid', 'An invoice was <b>paid</b>'],
  ]);
  const page = guides(catalog).find(({ name }) => name === 'events')?.description;
  expect(page).toContain('| `push` | Commits or tags were pushed, or a branch was created or deleted |');
  expect(page).toContain('| `user_signed_up` | Somebody created an account at the gate |');
  expect(page).toContain('| `invoice_paid` | An invoice was &#60;b&#62;paid&#60;/b&#62; |');
});

test('the code of the signature guide accepts signed requests and nothing else', async () => {
  const page = guides(new Map()).find(({ name }) => name === 'signatures')!.description!;
  const [, code] = /```js\n([\s\S]*?)```/.exec(page)!;
  const { isSigned } = await import(`data:text/javascript,${encodeURIComponent(code!)}`);
  const [secret, body] = ["It's a Secret to Everybody", 'Hello, World!'];
  const header = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
  expect(page).toContain(header);
  expect(isSigned(secret, Buffer.from(body), header)).toBe(true);
  for (const wrong of [undefined, '', 'sha256=', `${header}0`, header.replace('7', '8')])
    expect(isSigned(secret, Buffer.from(body), wrong)).toBe(false);
});
