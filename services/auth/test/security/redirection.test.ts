/** sec-001 to sec-022 and sec-082: redirect URIs, and the pages and answers of the front channel. */

import { Browser, type Page } from '@gatepost/testkit/browser';
import { openLogLines } from '@gatepost/testkit/log-lines';
import { until } from '@gatepost/testkit/until';
import { afterAll, describe, expect, test } from '@jest/globals';
import { managerToken } from '../manager.ts';
import { api } from '../seeds.ts';
import { answerOf, callback, openTarget, request } from './target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const log = openLogLines();
const target = stack.use(await openTarget({}, { log }));
const { gate, issuer } = target;
// Logged in once, for all tests that leave the session as it is.
const alice = await target.loggedIn();
type Params = Record<string, string>;
const ask = (params: Params, browser = new Browser(gate)) => browser.authorize({ ...request, ...params });

test('a refused redirect URI is in both logs with its client and the registered URIs, without possible secrets', async () => {
  const page = await ask({ client_id: 'spa', redirect_uri: 'https://app.example/cb/?code=canary#canary' });
  const details = {
    error: 'invalid_redirect_uri',
    redirect_uri: 'https://app.example/cb/?…',
    registered: [callback, 'https://app.example'],
  };
  const refusals = () => log.lines.filter(({ message }) => message === 'an authorization request was refused');
  expect(refusals().at(-1)).toMatchObject({
    'client.id': 'spa',
    ...details,
  });
  // This issuer is on loopback: whoever sees the page can only be its developer.
  expect(page.html).toContain('https://app.example/cb/?…. Register it among the callbacks of spa');
  expect(page.html).toContain('api/v2/clients/spa');
  const entry = await until('the entry', async () => {
    const { rows } = await gate.pool.query("SELECT type, client_id, details FROM auth.logs WHERE type = 'f'");
    return rows.find(({ details: found }) => found.redirect_uri === details.redirect_uri);
  });
  expect(entry).toMatchObject({ type: 'f', client_id: 'spa', details });
  expect(JSON.stringify([entry, log.lines])).not.toContain('canary');
  const unknown = await ask({ client_id: 'nobody' });
  expect(unknown.html).toContain('there is no client nobody. Register it');
  expect(refusals().at(-1)).toMatchObject({ error: 'invalid_client', client_asked: 'nobody' });
  const before = refusals().length;
  await ask({ prompt: 'none' });
  expect(refusals()).toHaveLength(before);
});

describe('redirect URIs are compared as strings', () => {
  const foreign: [string, string, string?][] = [
    ['sec-001-prefix-host', 'https://app.example.evil.com/cb'],
    ['sec-001-subdomain', 'https://evil.app.example/cb'],
    ['sec-002-parent-path', 'https://app.example/cb/../x'],
    ['sec-002-encoded-dots', 'https://app.example/%2e%2e/cb'],
    ['sec-002-encoded-slash', 'https://app.example/cb%2fx'],
    ['sec-002-double-encoded', 'https://app.example/cb%252f..%252fx'],
    ['sec-002-semicolon', 'https://app.example/..;/cb'],
    ['sec-002-extra-segment', 'https://app.example/cb/x'],
    ['sec-003-userinfo', 'https://app.example@evil.com/cb'],
    ['sec-003-userinfo-backslash', 'https://evil.com\\@app.example/cb'],
    ['sec-004-dot-is-no-wildcard', 'https://fooaexample.com/cb', 'dotted'],
    ['sec-005-case-of-path', 'https://app.example/CB'],
    ['sec-005-trailing-slash', 'https://app.example/cb/'],
    ['sec-006-query-appended', 'https://app.example/cb?x=1'],
    ['sec-006-code-pollution', 'https://app.example/cb?code=attackers'],
    ['sec-007-fragment', 'https://app.example/cb#x'],
    ['sec-007-empty-fragment', 'https://app.example/cb#'],
    ['sec-008-loopback-for-web', 'http://127.0.0.1:8080/cb'],
    ['sec-009-javascript', 'javascript:alert(1)//https://app.example/cb'],
    ['sec-009-data', 'data:text/html,x'],
    ['sec-009-vbscript', 'vbscript:x'],
    ['sec-009-file', 'file:///etc/passwd'],
    ['sec-013-wildcard', 'https://evil.wild.example/cb', 'dotted'],
    ['another scheme', 'http://app.example/cb'],
    ['another port', 'https://app.example:8443/cb'],
    ['white space', ' https://app.example/cb'],
    ['a tab', 'https://app.example/\tcb'],
  ];
  test.each(foreign)(
    '%s: %s shows an error page and never redirects, in any response mode',
    async (_name, redirect_uri, client_id = 'spa') => {
      for (const params of [
        {},
        { response_mode: 'form_post' },
        { response_mode: 'web_message', prompt: 'none' },
        { response_mode: 'fragment', scope: 'made up' },
        { response_type: 'id_token token' },
      ] as Params[]) {
        const page = await ask({ ...params, client_id, redirect_uri });
        expect([page.status, page.location]).toEqual([400, undefined]);
        expect(page.forms.map(({ action }) => action)).not.toContain(redirect_uri);
        expect(page.html).not.toContain('authorization_response');
      }
      const pushed = await gate.post('oauth/par', {
        ...request,
        client_id: 'web',
        client_secret: 'web-secret',
        redirect_uri,
      });
      expect(pushed.status).toBe(400);
    },
  );

  test('sec-008-loopback-port: a native client may choose the port, and nothing else', async () => {
    const native = (redirect_uri: string) => ask({ client_id: 'native', redirect_uri });
    expect((await native('http://127.0.0.1:49152/callback')).html).toContain('name="identifier"');
    for (const uri of [
      'http://localhost:49152/callback',
      'http://127.0.0.2:1/callback',
      'http://127.0.0.1:1/callback/',
    ])
      expect((await native(uri)).status).toBe(400);
  });

  test('sec-010-missing: the redirect URI is required if several are registered', async () => {
    const page = await new Browser(gate).authorize({ client_id: 'several', response_type: 'code', scope: 'openid' });
    expect([page.status, page.location]).toEqual([400, undefined]);
  });

  test('sec-012-other-errors: other errors are redirected with state and iss', async () => {
    for (const wrong of [
      { response_type: 'made_up' },
      { prompt: 'none' },
      { code_challenge_method: 'plain' },
    ] as Params[]) {
      const page = await ask({ state: 's t', ...wrong });
      expect(page.status).toBe(302);
      expect(answerOf(page)).toMatchObject({ error: expect.any(String), state: 's t', iss: issuer });
    }
    expect((await ask({ client_id: 'nobody' })).status).toBe(400);
  });
});

test('sec-007, sec-009, sec-013: unsafe redirect URIs cannot be registered', async () => {
  const manager = await managerToken(gate);
  const send = (path: string, body: object, token: unknown) =>
    fetch(`${issuer}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const initial = (await (await send('api/v2/registration-tokens', { ttl_sec: 60 }, manager)).json()) as Params;
  for (const uri of [
    'https://app.example/cb#x',
    'javascript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    'file:///x',
    'cb',
  ]) {
    const byApi = await send('api/v2/clients', { name: 'x', app_type: 'regular_web', callbacks: [uri] }, manager);
    expect([uri, byApi.status]).toEqual([uri, 400]);
    const byItself = await send('oidc/register', { redirect_uris: [uri] }, initial.token);
    expect([uri, byItself.status]).toEqual([uri, 400]);
  }
  for (const uri of ['javascript:alert(1)', 'data:text/html,x']) {
    const logout = await send(
      'api/v2/clients',
      { name: 'x', app_type: 'regular_web', allowed_logout_urls: [uri] },
      manager,
    );
    expect([uri, logout.status]).toEqual([uri, 400]);
  }
});

test.each([
  '/\t/evil.example',
  '\\\\evil.example',
  '//evil.example',
  '///evil.example',
  'https://app.example/bye?x',
  'https://app.example/bye%0a',
])('sec-014-logout-redirect: neither logout redirects to %j', async (uri) => {
  const browser = await target.loggedIn();
  const v2 = await browser.get(`v2/logout?${new URLSearchParams({ client_id: 'spa', returnTo: uri })}`);
  expect([v2.status, v2.location]).toEqual([400, undefined]);
  const rp = await browser.get(
    `oidc/logout?${new URLSearchParams({ client_id: 'spa', post_logout_redirect_uri: uri })}`,
  );
  expect([rp.status, rp.location]).toEqual([400, undefined]);
});

// Authlib and Nimbus take an answer that ends with an empty fragment for one of the implicit flow.
test('sec-015-fragment: a redirect with a query has no fragment, not even an empty one', async () => {
  const browser = alice;
  const url = new URL(`${issuer}authorize?${new URLSearchParams(request)}`);
  const response = await fetch(url, { redirect: 'manual', headers: { cookie: browser.cookieHeader(url) } });
  expect(response.headers.get('location')).toMatch(/^[^#]*\?[^#]*code=[^#]+$/);
});

test('sec-016-see-other: a form with credentials is answered 303, so that they are not sent again', async () => {
  const browser = new Browser(gate);
  const page = await browser.submit(await ask({}, browser), { identifier: 'alice@example.com' });
  const url = new URL(page.forms[0]!.action, page.url);
  const response = await fetch(url, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie: browser.cookieHeader(url) },
    body: new URLSearchParams({ ...page.forms[0]!.fields, password: 'correct horse battery staple' }),
  });
  expect(response.status).toBe(303);
  // Nothing else is: what was only asked for is answered 302, the way on included.
  const onward = new URL(response.headers.get('location')!, url);
  const cookie = browser.cookieHeader(onward);
  expect((await fetch(onward, { redirect: 'manual', headers: { cookie } })).status).toBe(302);
  expect((await gate.get(`authorize?${new URLSearchParams(request)}`)).status).toBe(302);
});

describe('sec-017, sec-018, sec-019: pages and answers of the front channel', () => {
  const consent = async () => {
    const browser = new Browser(gate);
    return browser.logIn(
      await ask({ client_id: 'third', audience: api, scope: 'openid read:x' }, browser),
      'bob@example.com',
    );
  };
  const pages: [string, () => Promise<Page>][] = [
    ['login', () => ask({})],
    [
      'password',
      async () => {
        const browser = new Browser(gate);
        return browser.submit(await ask({}, browser), { identifier: 'alice@example.com' });
      },
    ],
    ['consent', consent],
    ['error', () => ask({ client_id: 'nobody' })],
    ['logout', () => new Browser(gate).get('oidc/logout')],
    ['logged out', () => new Browser(gate).get('v2/logout')],
    ['device code', () => new Browser(gate).get('activate')],
    ['stale interaction', () => new Browser(gate).get('interaction/made-up')],
    ['form_post', () => ask({ response_mode: 'form_post' }, alice)],
  ];
  test.each(pages)(
    '%s: has no referrer, no cache, no frame, no foreign asset and no inline script',
    async (_name, open) => {
      const page = await open();
      const policy = page.headers.get('content-security-policy') ?? '';
      expect(page.headers.get('referrer-policy')).toBe('no-referrer');
      expect(page.headers.get('cache-control')).toContain('no-store');
      expect(page.headers.get('x-frame-options')).toBe('DENY');
      expect(policy).toContain("frame-ancestors 'none'");
      expect(/script-src [^;]*/.exec(policy)?.[0] ?? policy).not.toContain('unsafe-inline');
      expect(page.html).not.toMatch(/(src|href)="(https?:)?\/\/(?!app\.example)/);
      expect(page.html).not.toMatch(/\son[a-z]+="/);
      expect(page.headers.get('x-content-type-options')).toBe('nosniff');
    },
  );

  test('redirects are not cached and send no referrer either', async () => {
    const page = await ask({}, alice);
    expect(page.status).toBe(302);
    expect(page.headers.get('cache-control')).toContain('no-store');
    expect(page.headers.get('referrer-policy')).toBe('no-referrer');
  });

  test('only the web_message answer may be framed, and only by its origin', async () => {
    const page = await ask({ response_mode: 'web_message', prompt: 'none' }, alice);
    expect(page.headers.get('content-security-policy')).toMatch(/frame-ancestors https:\/\/app\.example(;|$)/);
    expect(page.headers.get('x-frame-options')).toBeNull();
  });
});

describe('reflected parameters are inert', () => {
  const states = [
    '"><script>alert(1)</script>',
    "'-alert(1)-'",
    '</script><script>alert(1)</script>',
    '<!--<script>',
    '\u2028\u2029',
    '{{ 7 | times: 6 }}',
  ];
  test.each(states)('sec-020-form-post, sec-022-web-message: state %j', async (state) => {
    const browser = alice;
    for (const params of [{}, { prompt: 'none login' }] as Params[]) {
      const form = await ask({ ...params, state, response_mode: 'form_post' }, browser);
      expect(form.status).toBe(200);
      expect(form.forms).toHaveLength(1);
      expect(form.forms[0]).toMatchObject({ action: callback, fields: { state, iss: issuer } });
      expect(form.html).not.toContain('<script>alert');
      const message = await ask({ ...params, state, response_mode: 'web_message' }, browser);
      expect(message.html).not.toContain('<script>alert');
      expect(message.html).not.toMatch(/<!--<script/);
      expect(message.html).not.toMatch(/targetOrigin["']?\s*[:=]\s*["']\*/);
      expect(message.html.match(/<script/g)?.length).toBe(message.html.match(/<\/script>/g)?.length);
    }
  });

  test('sec-021-form-post-cache: is never cached and posts to the registered URI alone', async () => {
    const page = await ask({ response_mode: 'form_post' }, alice);
    expect(page.headers.get('cache-control')).toContain('no-store');
    expect(page.forms.map(({ action }) => action)).toEqual([callback]);
  });

  test('sec-082-error-page: reflected values are escaped', async () => {
    const evil = '"><img src=x onerror=alert(1)>';
    for (const params of [
      { client_id: evil },
      { redirect_uri: evil },
      { response_mode: evil },
      { request_uri: evil },
    ] as Params[]) {
      const page = await ask(params);
      expect(page.html).not.toContain('<img src=x');
    }
    const logout = await new Browser(gate).get(`v2/logout?${new URLSearchParams({ client_id: evil, returnTo: evil })}`);
    expect(logout.html).not.toContain('<img src=x');
  });
});
