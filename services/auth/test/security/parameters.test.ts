/** sec-023 to sec-034: what a request may say, and how it is answered. */

import { Browser } from '@gatepost/testkit/browser';
import { redisUrl } from '@gatepost/testkit/stores';
import { afterAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { decodeJwt } from 'jose';
import { api } from '../seeds.ts';
import { answerOf, openTarget, request } from './target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const target = stack.use(await openTarget());
const { gate, issuer } = target;
const redis = stack.adopt(new Redis(redisUrl()), (opened) => void opened.disconnect());
const startedAt = Math.floor(Date.now() / 1000);
// Logged in once, for all tests that leave the session as it is.
const alice = await target.loggedIn();
type Params = Record<string, string>;
const ask = (params: Params, browser = new Browser(gate)) => browser.authorize({ ...request, ...params });

test.each(['https://evil.example', 'https://app.example.evil.com', 'http://app.example'])(
  'sec-023-web-message-origin: nothing is posted to a requesting page of %s',
  async (origin) => {
    const browser = alice;
    const query = new URLSearchParams({ ...request, response_mode: 'web_message', prompt: 'none' });
    const page = await browser.get(`authorize?${query}`, { referer: `${origin}/` });
    expect(page.status).toBe(400);
    expect(page.html).not.toContain('authorization_response');
  },
);

test('sec-024-web-message-login: without a session login_required is posted, and no login page is shown', async () => {
  const page = await ask({ response_mode: 'web_message', prompt: 'none' });
  expect(page.html).toContain('login_required');
  expect(page.html).not.toContain('name="identifier"');
});

test.each(['token', 'id_token', 'id_token token', 'code id_token', 'code token', 'code id_token token'])(
  'sec-025-query-mode: %s is never put into a query',
  async (response_type) => {
    const page = await ask({ response_type, response_mode: 'query' }, alice);
    expect(answerOf(page).error).toBe('invalid_request');
    expect(page.location!.href).not.toMatch(/access_token|id_token=|code=/);
  },
);

test('sec-026-prompt-none: cannot be combined, and gives consent_required where a question would be needed', async () => {
  const browser = await target.loggedIn('bob@example.com');
  expect(answerOf(await ask({ prompt: 'none login' }, browser)).error).toBe('invalid_request');
  const third = { client_id: 'third', audience: api, scope: 'openid write:x', prompt: 'none' };
  for (let round = 0; round < 2; round += 1) expect(answerOf(await ask(third, browser)).error).toBe('consent_required');
});

test('sec-027-prompt-login: asks again, and giving up leaves the session as it was', async () => {
  const browser = await target.loggedIn();
  const page = await ask({ prompt: 'login' }, browser);
  expect(page.status).toBe(200);
  expect((await browser.logIn(page, 'bob@example.com', 'wrong')).status).toBe(400);
  const silent = await ask({ response_type: 'id_token', prompt: 'none' }, browser);
  expect(decodeJwt(answerOf(silent).id_token!).sub).toBe('auth0|alice');
});

test('sec-028-max-age: is honoured, and auth_time has the time of the login', async () => {
  const browser = alice;
  const fresh = await ask({ response_type: 'id_token', max_age: '600' }, browser);
  const { auth_time } = decodeJwt(answerOf(fresh).id_token!);
  expect(auth_time).toBeGreaterThanOrEqual(startedAt);
  expect(auth_time).toBeLessThanOrEqual(Date.now() / 1000);
  expect((await ask({ max_age: '0' }, browser)).status).toBe(200);
  expect(answerOf(await ask({ max_age: '0', prompt: 'none' }, browser)).error).toBe('login_required');
  expect(answerOf(await ask({ max_age: '-1' }, browser)).error).toBe('invalid_request');
});

test.each(['query', 'fragment', 'form_post', 'web_message'])(
  'sec-029-mix-up: every answer by %s contains iss',
  async (response_mode) => {
    const browser = alice;
    const { json } = await gate.get('.well-known/openid-configuration');
    expect(json).toMatchObject({ issuer, authorization_response_iss_parameter_supported: true });
    for (const params of [{}, { prompt: 'none login' }] as Params[]) {
      const page = await ask({ response_mode, ...params }, browser);
      const carried = page.location ? answerOf(page).iss : page.html.includes(issuer) && issuer;
      expect(carried).toBe(issuer);
    }
  },
);

test('sec-030-state: is returned byte for byte up to 2 KB, and never made up', async () => {
  const browser = alice;
  for (const state of ['a+b%20c &=#?/\\"\'<>', 'ü€😀\u200d', 'x'.repeat(2048), '%00', '[object Object]', ' '])
    expect(answerOf(await ask({ state }, browser)).state).toBe(state);
  expect(answerOf(await ask({}, browser))).not.toHaveProperty('state');
});

describe('sec-031-duplicates: a parameter given twice is invalid_request', () => {
  test.each(['scope', 'state', 'response_type', 'nonce', 'code_challenge', 'audience'])(
    '%s at authorize',
    async (name) => {
      const query = new URLSearchParams({ ...request, audience: api, state: 's' });
      query.append(name, 'second');
      const page = await new Browser(gate).get(`authorize?${query}`);
      expect(page.html).not.toContain('name="identifier"');
      expect(page.location ? answerOf(page).error : page.status).toBe(page.location ? 'invalid_request' : 400);
    },
  );

  test.each(['client_id', 'redirect_uri'])('%s at authorize, without a redirect', async (name) => {
    const query = new URLSearchParams(request);
    query.append(name, 'https://evil.example/');
    const page = await new Browser(gate).get(`authorize?${query}`);
    expect([page.status, page.location]).toEqual([400, undefined]);
  });

  test.each([
    [
      'oauth/token',
      'grant_type=client_credentials&client_id=machine&client_secret=machine-secret&scope=read:x&scope=write:x',
    ],
    ['oauth/token', 'grant_type=client_credentials&grant_type=password&client_id=machine&client_secret=machine-secret'],
    [
      'oauth/token',
      'grant_type=client_credentials&client_id=machine&client_secret=machine-secret&audience=a&audience=b',
    ],
    ['oauth/par', 'client_id=web&client_secret=web-secret&response_type=code&state=a&state=b'],
    ['oauth/device/code', 'client_id=native&scope=openid&scope=email'],
    ['oauth/introspect', 'client_id=web&client_secret=web-secret&token=a&token=b'],
    ['oauth/revoke', 'client_id=web&client_secret=web-secret&token=a&token=b'],
  ])('at %s', async (path, form) => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const response = await fetch(`${issuer}${path}`, { method: 'POST', headers, body: form });
    expect([response.status, ((await response.json()) as Params).error]).toEqual([400, 'invalid_request']);
  });
});

test('sec-032-unknown: unknown parameters are ignored, also ext- ones with bad names or values or beyond ten', async () => {
  const many = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`ext-p${index}`, '1']));
  const page = await ask({
    ...many,
    'ext-': 'x',
    'ext-ä': 'x',
    'ext-long': 'x'.repeat(300),
    utm_source: 'x',
    ext: '{"ext-a":"<b>"}',
  });
  expect(page.status).toBe(200);
  expect(page.html).toContain('name="identifier"');
});

test('sec-034-ext-alphabet: only ext- parameters with Auth0’s characters are kept, and others are no error', async () => {
  const kept = { 'ext-a': 'Az09-.*~@+ /:_', 'ext-b': 'x'.repeat(255) };
  const dropped = Object.fromEntries(
    ['', 'x'.repeat(256), 'ä', '(', 'a;b', '{', '<', '"', "'", '&', '%', '#', '=', 'a\nb', 'a,b'].map((text, index) => [
      `ext-x${index}`,
      text,
    ]),
  );
  const page = await ask({ ...kept, ...dropped, [`ext-${'n'.repeat(29)}`]: 'x', [`ext-${'n'.repeat(28)}`]: 'x' });
  expect(page.status).toBe(200);
  const stored = await redis.hget(`${gate.redisPrefix}auth:Interaction:${page.url.split('/').at(-1)}`, 'payload');
  const { ext } = JSON.parse(stored!).params;
  expect(JSON.parse(ext)).toEqual({ ...kept, [`ext-${'n'.repeat(28)}`]: 'x' });
});

test('sec-034-ext-inert: built-in pages show no ext- values', async () => {
  const page = await ask({ 'ext-link': 'javascript:alert(1)', 'ext-html': '<script>alert(1)</script>' });
  expect(page.html).not.toMatch(/alert\(1\)/);
});
