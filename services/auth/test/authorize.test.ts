/** The authorization endpoint: login, consent, and every response type and mode. */

import { Browser, type Page } from '@gatepost/testkit/browser';
import { pkce } from '@gatepost/testkit/pkce';
import { afterAll, describe, expect, test } from '@jest/globals';
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose';
import { openGate } from './gate.ts';
import { api, seed } from './seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(async () => {
  await stack.disposeAsync();
});
const gate = stack.use(await openGate(seed));
const { issuer } = gate;
const jwks = createRemoteJWKSet(new URL(`${issuer}.well-known/jwks.json`));
const redirect_uri = 'https://app.example/cb';
const base = { client_id: 'spa', redirect_uri, scope: 'openid profile email', state: 'a+b &<"\u00fc', nonce: 'n-1' };

async function loggedIn(): Promise<Browser> {
  const browser = new Browser(gate);
  await browser.logIn(await browser.authorize({ ...base, ...pkce(), response_type: 'code' }));
  return browser;
}

const answer = (page: Page): Record<string, string> =>
  Object.fromEntries(new URLSearchParams(page.location!.hash ? page.location!.hash.slice(1) : page.location!.search));

test('the code flow leads from identifier and password to a redirect with code, state and iss, and to tokens', async () => {
  const browser = new Browser(gate);
  const proof = pkce();
  const first = await browser.authorize({ ...base, ...proof, response_type: 'code', audience: api });
  expect(first.status).toBe(200);
  expect(first.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  const password = await browser.submit(first, { identifier: 'Alice@Example.com' });
  expect(password.html).toContain('alice@example.com');
  const done = await browser.submit(password, { password: 'correct horse battery staple' });
  expect(done.status).toBe(302);
  expect(done.location?.origin + done.location!.pathname).toBe(redirect_uri);
  expect(answer(done)).toEqual({ code: expect.any(String), state: base.state, iss: issuer });

  const { code } = answer(done) as { code: string };
  const { json, status } = await gate.post('oauth/token', {
    grant_type: 'authorization_code',
    client_id: 'spa',
    code,
    redirect_uri,
    code_verifier: proof.code_verifier,
  });
  expect(status).toBe(200);
  expect(json).toMatchObject({ token_type: 'Bearer', expires_in: 600, scope: 'openid profile email' });
  const access = await jwtVerify(json.access_token as string, jwks, { issuer, typ: 'JWT' });
  expect(access.payload).toMatchObject({
    sub: 'auth0|alice',
    aud: [api, `${issuer}userinfo`],
    azp: 'spa',
    first_party: true,
  });
  const id = await jwtVerify(json.id_token as string, jwks, { issuer, audience: 'spa', algorithms: ['RS256'] });
  expect(id.payload).toMatchObject({
    sub: 'auth0|alice',
    nonce: 'n-1',
    name: 'Alice Example',
    email: 'alice@example.com',
    email_verified: true,
    sid: expect.any(String),
  });
});

test('a wrong password reveals nothing about the account, and the page can be tried again', async () => {
  const browser = new Browser(gate);
  const first = await browser.authorize({ ...base, ...pkce(), response_type: 'code' });
  const wrong = await browser.logIn(first, 'alice@example.com', 'wrong');
  const unknown = await browser.logIn(first, 'nobody@example.com', 'wrong');
  expect(wrong.status).toBe(400);
  const neutral = (page: Page) => page.html.replaceAll(/alice|nobody/g, 'x');
  expect(neutral(unknown)).toBe(neutral(wrong));
  expect((await browser.submit(wrong, { password: 'correct horse battery staple' })).status).toBe(302);
});

describe('response types', () => {
  test.each([
    ['code', ['code', 'iss', 'state']],
    ['token', ['access_token', 'expires_in', 'iss', 'scope', 'state', 'token_type']],
    ['id_token', ['id_token', 'iss', 'state']],
    ['id_token token', ['access_token', 'expires_in', 'id_token', 'iss', 'scope', 'state', 'token_type']],
    ['token id_token', ['access_token', 'expires_in', 'id_token', 'iss', 'scope', 'state', 'token_type']],
    ['code id_token', ['code', 'id_token', 'iss', 'state']],
    ['code token', ['access_token', 'code', 'expires_in', 'iss', 'scope', 'state', 'token_type']],
    ['code id_token token', ['access_token', 'code', 'expires_in', 'id_token', 'iss', 'scope', 'state', 'token_type']],
  ])('%s answers with %j', async (response_type, names) => {
    const browser = await loggedIn();
    const page = await browser.authorize({ ...base, ...pkce(), response_type });
    expect(page.status).toBe(302);
    expect(page.location!.hash === '').toBe(response_type === 'code');
    expect(page.location!.search === '').toBe(response_type !== 'code');
    expect(Object.keys(answer(page)).sort()).toEqual(names);
    expect(answer(page)).toMatchObject({ state: base.state, iss: issuer });
  });

  test('response_type=token without openid, as auth0-js sends it, gives an access token for the audience', async () => {
    const browser = await loggedIn();
    const page = await browser.authorize({ ...base, response_type: 'token', scope: 'read:x', audience: api });
    const { access_token, token_type, expires_in } = answer(page);
    expect({ token_type, expires_in }).toEqual({ token_type: 'Bearer', expires_in: '600' });
    expect(decodeJwt(access_token!)).toMatchObject({ aud: api, scope: 'read:x' });
  });

  test('sec-025-query-mode: tokens are never put into a query', async () => {
    const browser = await loggedIn();
    for (const response_type of ['token', 'id_token', 'id_token token', 'code token']) {
      const page = await browser.authorize({ ...base, ...pkce(), response_type, response_mode: 'query' });
      expect(answer(page).error).toBe('invalid_request');
      expect(page.location!.href).not.toMatch(/access_token|id_token=/);
    }
  });
});

describe('response modes', () => {
  test('a code is returned in the fragment when the client asks for it', async () => {
    const page = await (await loggedIn()).authorize({
      ...base,
      ...pkce(),
      response_type: 'code',
      response_mode: 'fragment',
    });
    expect(page.location!.hash).toMatch(/^#code=/);
  });

  test.each(['code', 'id_token token'])(
    'form_post returns %s in hidden fields that are posted to the redirect URI',
    async (response_type) => {
      const page = await (await loggedIn()).authorize({
        ...base,
        ...pkce(),
        response_type,
        response_mode: 'form_post',
      });
      expect(page.status).toBe(200);
      expect(page.headers.get('cache-control')).toContain('no-store');
      expect(page.forms[0]!.action).toBe(redirect_uri);
      expect(page.forms[0]!.fields).toMatchObject({ state: base.state, iss: issuer });
      expect(page.headers.get('content-security-policy')).not.toContain('unsafe-inline');
    },
  );

  test('form_post answers 200 for errors too, and sec-020-form-post-inert: values are inert', async () => {
    const state = '"><script>alert(1)</script>';
    const page = await (await loggedIn()).authorize({
      ...base,
      state,
      response_type: 'code',
      response_mode: 'form_post',
    });
    expect(page.status).toBe(200);
    expect(page.forms[0]!.fields).toMatchObject({ error: 'invalid_request', state, iss: issuer });
    expect(page.html).not.toContain('<script>alert(1)');
  });

  test('web_message posts to the exact origin, which alone may frame the page', async () => {
    const page = await (await loggedIn()).authorize({
      ...base,
      ...pkce(),
      response_type: 'code',
      response_mode: 'web_message',
      prompt: 'none',
    });
    expect(page.status).toBe(200);
    expect(page.html).toContain('authorization_response');
    expect(page.headers.get('content-security-policy')).toContain('frame-ancestors https://app.example');
    expect(page.headers.get('x-frame-options')).toBeNull();
  });

  test('sec-024-web-message-no-session: login_required is posted, and no login page is framed', async () => {
    const page = await new Browser(gate).authorize({
      ...base,
      ...pkce(),
      response_type: 'code',
      response_mode: 'web_message',
      prompt: 'none',
    });
    expect(page.status).toBe(200);
    expect(page.html).toContain('login_required');
  });

  test('sec-023-web-message-origin: nothing is posted to an origin that is not allowed', async () => {
    const browser = await loggedIn();
    const page = await browser.get(
      `authorize?${new URLSearchParams({ ...base, ...pkce(), response_type: 'code', response_mode: 'web_message' })}`,
      { referer: 'https://evil.example/' },
    );
    expect(page.status).toBe(400);
    expect(page.html).not.toContain('authorization_response');
    const web = await browser.authorize({
      ...base,
      client_id: 'web',
      response_type: 'code',
      response_mode: 'web_message',
    });
    expect(web.status).toBe(400);
    expect(web.html).not.toContain('authorization_response');
  });

  test('discovery lists all response types and modes', async () => {
    const { json } = await gate.get('.well-known/openid-configuration');
    expect(json.response_modes_supported).toEqual(
      expect.arrayContaining(['query', 'fragment', 'form_post', 'web_message']),
    );
    expect(json.response_types_supported).toEqual(expect.arrayContaining(['code', 'token', 'id_token token']));
  });
});

describe('errors', () => {
  test.each([
    ['an unknown client', { client_id: 'nobody' }],
    ['a foreign redirect URI', { redirect_uri: 'https://evil.example/cb' }],
    ['sec-001 prefix host', { redirect_uri: 'https://app.example.evil.com/cb' }],
    ['sec-002 extra path', { redirect_uri: 'https://app.example/cb/../x' }],
    ['sec-002 encoded path', { redirect_uri: 'https://app.example/cb%2f..%2fx' }],
    ['sec-003 userinfo', { redirect_uri: 'https://app.example@evil.com/cb' }],
    ['sec-005 case', { redirect_uri: 'https://app.example/CB' }],
    ['sec-005 trailing slash', { redirect_uri: 'https://app.example/cb/' }],
    ['sec-006 query', { redirect_uri: 'https://app.example/cb?code=x' }],
    ['sec-007 fragment', { redirect_uri: 'https://app.example/cb#x' }],
    ['sec-009 javascript', { redirect_uri: 'javascript:alert(1)' }],
  ])('sec-012-no-redirect: %s shows a page and never redirects', async (_what, params) => {
    const page = await new Browser(gate).authorize({ ...base, ...pkce(), response_type: 'code', ...params });
    expect(page.status).toBe(400);
    expect(page.location).toBeUndefined();
    expect(page.headers.get('content-type')).toContain('text/html');
  });

  test('other errors are redirected with state and iss', async () => {
    const page = await new Browser(gate).authorize({ ...base, response_type: 'made_up' });
    expect(page.status).toBe(302);
    expect(answer(page)).toMatchObject({ error: 'unsupported_response_type', state: base.state, iss: issuer });
  });

  test('a response type that the client may not use is unauthorized_client', async () => {
    const page = await new Browser(gate).authorize({ ...base, client_id: 'web', response_type: 'id_token token' });
    expect(answer(page)).toMatchObject({ error: 'unauthorized_client' });
  });

  test('sec-042-pkce: a public client must send a code challenge, and plain is refused', async () => {
    const without = await new Browser(gate).authorize({ ...base, response_type: 'code' });
    expect(answer(without).error).toBe('invalid_request');
    const plain = await new Browser(gate).authorize({
      ...base,
      response_type: 'code',
      code_challenge: 'x'.repeat(43),
      code_challenge_method: 'plain',
    });
    expect(answer(plain).error).toBe('invalid_request');
  });

  test('sec-026-prompt-none: prompt=none gives login_required without a session, and invalid_request with another prompt', async () => {
    const none = await new Browser(gate).authorize({ ...base, ...pkce(), response_type: 'code', prompt: 'none' });
    expect(answer(none).error).toBe('login_required');
    expect(none.status).toBe(302);
    const both = await new Browser(gate).authorize({ ...base, ...pkce(), response_type: 'code', prompt: 'none login' });
    expect(answer(both).error).toBe('invalid_request');
  });

  test('an unknown audience is an error', async () => {
    const page = await new Browser(gate).authorize({
      ...base,
      ...pkce(),
      response_type: 'code',
      audience: 'https://unknown.example/',
    });
    expect(answer(page).error).toBe('invalid_target');
  });
});

describe('consent', () => {
  const request = { ...base, client_id: 'third', response_type: 'code', scope: 'openid read:x', audience: api };

  test('names the application as text, the API and each scope, and refusing is access_denied', async () => {
    const browser = new Browser(gate);
    const page = await browser.logIn(await browser.authorize(request), 'bob@example.com');
    expect(page.html).toContain('Third &#60;b&#62;Party');
    expect(page.html).toContain('Example API');
    expect(page.html).toContain('app.example');
    const refused = await browser.submit(page, { action: 'deny' });
    expect(answer(refused)).toMatchObject({ error: 'access_denied', state: base.state, iss: issuer });
  });

  test('is remembered per person, client, API and scopes, across sessions', async () => {
    const browser = new Browser(gate);
    const page = await browser.logIn(await browser.authorize(request));
    const allowed = await browser.submit(page, { action: 'default' });
    expect(answer(allowed).code).toBeDefined();

    const elsewhere = new Browser(gate);
    const again = await elsewhere.logIn(await elsewhere.authorize(request));
    expect(again.status).toBe(302);
    const more = await elsewhere.authorize({ ...request, scope: 'openid read:x write:x' });
    expect(more.status).toBe(200);
    expect((await elsewhere.authorize({ ...request, prompt: 'consent' })).status).toBe(200);
  });

  test('sec-075-csrf: a form without its token, or with another interaction’s, is refused', async () => {
    const [one, two] = [new Browser(gate), new Browser(gate)];
    const page = await one.authorize(request);
    const other = await two.authorize(request);
    expect((await one.submit(page, { csrf: '', identifier: 'x@y.z' })).status).toBe(403);
    expect((await one.submit(page, { csrf: other.forms[0]!.fields.csrf!, identifier: 'x@y.z' })).status).toBe(403);
  });

  test('sec-076-foreign-uid: another person’s interaction shows a page saying that it is out of date', async () => {
    const page = await new Browser(gate).authorize(request);
    const stranger = await new Browser(gate).get(page.url);
    expect(stranger.status).toBe(400);
    expect(stranger.html).not.toContain('name="identifier"');
  });
});

describe('sessions', () => {
  test('prompt=login and max_age=0 ask again, but max_age with a fresh session does not', async () => {
    const browser = await loggedIn();
    expect((await browser.authorize({ ...base, ...pkce(), response_type: 'code', prompt: 'login' })).status).toBe(200);
    expect((await browser.authorize({ ...base, ...pkce(), response_type: 'code', max_age: '0' })).status).toBe(200);
    expect((await browser.authorize({ ...base, ...pkce(), response_type: 'code', max_age: '1000' })).status).toBe(302);
  });

  test('sec-073-fixation: the session id changes at login', async () => {
    const browser = await loggedIn();
    const before = browser.cookies.get('_session /')!.value;
    const page = await browser.authorize({ ...base, ...pkce(), response_type: 'code', prompt: 'login' });
    await browser.logIn(page);
    expect(browser.cookies.get('_session /')!.value).not.toBe(before);
  });

  test('another person can log in over a session, which then ends', async () => {
    const browser = await loggedIn();
    const page = await browser.authorize({ ...base, ...pkce(), response_type: 'id_token', prompt: 'login' });
    const swap = await browser.logIn(page, 'bob@example.com');
    const done = swap.location ? swap : await browser.submit(swap);
    expect(decodeJwt(answer(done).id_token!).sub).toBe('auth0|bob');
  });
});

test('up to ten ext- parameters with Auth0’s characters reach the page, and survive a reload and PAR', async () => {
  const ext = Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`ext-p${index}`, `v${index}`]));
  const template =
    '<!doctype html><html><head>{%- auth0:head -%}</head><body><i>{{ transaction.params["ext-p0"] }}|{{ transaction.params["ext-p1"] }}|{{ transaction.params["ext-p11"] }}|{{ transaction.params["ext-bad!"] }}</i>{%- auth0:widget -%}</body></html>';
  await gate.pool.query('INSERT INTO auth.page_templates (name, body) VALUES ($1, $2)', ['universal-login', template]);
  const browser = new Browser(gate);
  const params = {
    ...base,
    ...pkce(),
    response_type: 'code',
    ...ext,
    'ext-p0': 'it* ~@+/:_-.9',
    'ext-p1': '<b>"x"',
    'ext-bad!': 'no',
    unknown: 'ignored',
  };
  const { until } = await import('@gatepost/testkit/until');
  const page = await until('the template', async () => {
    const shown = await browser.authorize(params);
    return shown.html.includes('<i>') && shown;
  });
  expect(page.html).toContain('<i>it* ~@+/:_-.9|||</i>');
  expect((await browser.get(page.url)).html).toContain('<i>it* ~@');
  const pushed = await gate.post('oauth/par', { ...params, client_id: 'spa' });
  expect(pushed.status).toBe(201);
  const fromPar = await browser.authorize({
    client_id: 'spa',
    request_uri: pushed.json.request_uri as string,
    'ext-p0': 'outside',
  });
  expect(fromPar.html).toContain('<i>it* ~@');
  await gate.pool.query('DELETE FROM auth.page_templates');
});

test('POST /authorize means the same as GET', async () => {
  const browser = new Browser(gate);
  const page = await browser.post('authorize', { ...base, ...pkce(), response_type: 'code' });
  expect(page.status).toBe(200);
  expect((await browser.logIn(page)).status).toBe(302);
});
