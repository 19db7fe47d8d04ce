/** The hosted pages as the gate sends them: what only shows with the whole gate around them. */

import { Browser } from '@gatepost/testkit/browser';
import { pkce } from '@gatepost/testkit/pkce';
import { afterAll, expect, test } from '@jest/globals';
import { openGate } from './gate.ts';
import { seed } from './seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const gate = stack.use(await openGate(seed));
const request = { client_id: 'third', redirect_uri: 'https://app.example/cb', response_type: 'code', scope: 'openid' };

test('a browser that opens an unknown address gets a page, and a program a bare 404', async () => {
  const page = await new Browser(gate).get('nothing-here');
  expect(page.status).toBe(404);
  expect(page.html).toContain('Page not found');
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  const answer = await gate.get('nothing-here', { accept: 'application/json' });
  expect(answer.status).toBe(404);
  expect(answer.headers.get('content-type')).not.toContain('html');
});

test('a browser that opens the issuer itself sees what it is, which endpoints answer, and where to go on', async () => {
  const page = await new Browser(gate).get('');
  expect(page.status).toBe(200);
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(page.html).toContain(`<code>${gate.issuer}</code>`);
  expect(page.html).toContain(`<code>${gate.issuer}api/v2/</code>`);
  for (const [, href] of page.html.matchAll(/href="(http[^"]+)"/g))
    expect([href, (await fetch(href!)).status]).toEqual([href, 200]);
  expect(page.html).toContain('<dt>PostgreSQL</dt><dd>answers</dd>');
  expect(page.html).toContain('<dt>Redis</dt><dd>answers</dd>');
});

test('sec-034-ext: ext- parameters reach a page escaped, and only where a template shows them', async () => {
  const hostile = '"><script>alert(1)</script>';
  const page = await new Browser(gate).authorize({ ...request, ...pkce(), 'ext-banner': hostile });
  expect(page.status).toBe(200);
  expect(page.html).not.toContain('alert(1)');
});

test('sec-077-consent: the consent page names the client as text, the redirect target, and each scope in words', async () => {
  const browser = new Browser(gate);
  const page = await browser.logIn(await browser.authorize({ ...request, scope: 'openid email', ...pkce() }));
  expect(page.html).toContain('Third &#60;b&#62;Party&#60;/b&#62;');
  expect(page.html).not.toContain('Third <b>');
  expect(page.html).toContain('<bdi>app.example</bdi>');
  expect(page.html).toContain('See your email address');
  expect(page.html).not.toContain('<img');
});

test('hosted pages use the language of the request, then that of the browser', async () => {
  const browser = new Browser(gate);
  const german = await browser.authorize({ ...request, ...pkce(), ui_locales: 'it de' });
  expect(german.html).toContain('<html lang="de"');
  const english = await browser.authorize({ ...request, ...pkce() });
  expect(english.headers.get('content-language')).toBe('en');
  const byBrowser = await browser.get(english.url, { 'accept-language': 'de-AT,en;q=0.5' });
  expect(byBrowser.headers.get('content-language')).toBe('de');
});
