/**
 * What nobody who is not known yet can make us keep. Fifty kilobytes of `state` in each of two thousand requests used to take
 * 115 MB of Redis for an hour.
 */
import { Browser } from '@gatepost/testkit/browser';
import { redisUrl } from '@gatepost/testkit/stores';
import { afterAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { decodeJwt, SignJWT } from 'jose';
import { callback, clientKey, openTarget } from './target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const { gate, issuer } = stack.use(await openTarget());
const redis = stack.adopt(new Redis(redisUrl()), (opened) => void opened.disconnect());
const base = { client_id: 'web', redirect_uri: callback, response_type: 'code', scope: 'openid' };
const secret = { client_secret: 'web-secret' };

/** Keys of one model, with what each is worth in bytes and seconds. */
async function kept(model: string): Promise<{ bytes: number; seconds: number }[]> {
  const keys = await redis.keys(`${gate.redisPrefix}auth:${model}:*`);
  return Promise.all(
    keys.map(async (key) => ({
      bytes: (await redis.hget(key, 'payload'))?.length ?? 0,
      seconds: await redis.ttl(key),
    })),
  );
}
/** Parameters that the gate knows, of so many bytes each. */
const several = (bytes: number, names = ['state', 'nonce', 'login_hint', 'acr_values', 'ui_locales']) =>
  Object.fromEntries(names.map((name) => [name, 'x'.repeat(bytes)]));

describe('the size of parameters of an authorization request', () => {
  test.each([
    ['one of more than 2 kB', { state: 'x'.repeat(2_049) }],
    ['one of 50 kB', { state: 'x'.repeat(50_000) }],
    ['one of more than 2 kB of UTF-8', { nonce: 'ü'.repeat(1_025) }],
    ['more than 8 kB all together', several(1_800)],
  ])('%s: is answered with invalid_request to the client, and nothing is stored', async (_what, params) => {
    const before = (await kept('Interaction')).length;
    const body = new URLSearchParams(base);
    for (const [name, value] of Object.entries(params)) body.set(name, value);
    const answer = await fetch(`${issuer}authorize`, { method: 'POST', body, redirect: 'manual' });
    expect(answer.status).toBe(302);
    const location = new URL(answer.headers.get('location')!);
    expect(location.origin + location.pathname).toBe(callback);
    expect(location.searchParams.get('error')).toBe('invalid_request');
    // A state that is too long itself stays out: no proxy takes a header of 50 kB.
    const { state = '' } = params as { state?: string };
    expect(location.searchParams.get('state') ?? '').toBe(state.length > 2_048 ? '' : state);
    expect(await kept('Interaction')).toHaveLength(before);
  });

  test.each(['query.jwt', 'fragment.jwt', 'jwt', 'form_post.jwt'])(
    'a state of more than 2 kB stays out of a JWT too: %s',
    async (response_mode) => {
      const { headers, text } = await gate.post('authorize', { ...base, response_mode, state: 'x'.repeat(40_000) });
      const [, jwt] = /response(?:=|" value=")([\w-]+\.[\w-]+\.[\w-]+)/.exec(headers.get('location') ?? text)!;
      const { error, state } = decodeJwt(jwt!);
      expect([error, state]).toEqual(['invalid_request', undefined]);
    },
  );

  test('too large is not reported to a redirect URI that is not the client’s', async () => {
    const answer = await gate.post('authorize', {
      ...base,
      redirect_uri: 'https://evil.example/',
      state: 'x'.repeat(5_000),
    });
    expect([answer.status, answer.headers.get('location')]).toEqual([400, null]);
  });

  test('of exactly 2 kB each and 8 kB in all is stored byte for byte', async () => {
    const browser = new Browser(gate);
    const state = 'ü&=+ %'.repeat(400).slice(0, 1_755); // 2,048 bytes of UTF-8
    expect(Buffer.byteLength(state)).toBe(2_048);
    const params = { ...base, ...several(2_000, ['nonce', 'login_hint']), state };
    const done = await browser.logIn(await browser.post('authorize', params));
    expect(done.location?.searchParams.get('state')).toBe(state);
  });

  test.each([
    ['oauth/par', { ...base, ...secret, state: 'x'.repeat(2_049) }],
    ['oauth/par', { ...base, ...secret, ...several(1_800) }],
    ['oauth/device/code', { client_id: 'native', scope: 'openid', nonce: 'x'.repeat(2_049) }],
    [
      'oauth/device/code',
      { client_id: 'native', ...several(1_950, ['scope', 'nonce', 'login_hint', 'acr_values', 'ui_locales']) },
    ],
  ])('is limited at %s in the same way', async (path, form) => {
    const answer = await gate.post(path, form as never);
    expect([answer.status, answer.json.error]).toEqual([400, 'invalid_request']);
    expect(await kept('PushedAuthorizationRequest')).toEqual([]);
    expect(await kept('DeviceCode')).toEqual([]);
  });

  test('is limited in a request object too, which itself may be longer', async () => {
    const sign = (more: object) =>
      new SignJWT({ ...base, client_id: 'keyed', ...more })
        .setProtectedHeader({ alg: 'RS256', kid: 'k1' })
        .setIssuer('keyed')
        .setAudience(issuer)
        .setExpirationTime('1m')
        .sign(clientKey.privateKey);
    const ask = async (more: object) => {
      const answer = await gate.post('authorize', { ...base, client_id: 'keyed', request: await sign(more) });
      const location = new URL(answer.headers.get('location')!, issuer);
      return location.searchParams.get('error') ?? location.pathname.split('/')[1];
    };
    expect(await ask(several(1_500, ['state', 'nonce', 'login_hint']))).toBe('interaction');
    expect(await ask({ state: 'x'.repeat(3_000) })).toBe('invalid_request');
    expect(await ask({ unknown: 'x'.repeat(13_000) })).toBe('invalid_request_object');
  });

  test('is limited for a mailed link that continues the request', async () => {
    const send = { client_id: 'web', connection: 'email', email: 'alice@example.com', send: 'link' };
    const authParams = { redirect_uri: callback, ...several(1_900) };
    const response = await fetch(`${issuer}passwordless/start`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...send, authParams }),
    });
    expect([response.status, await response.json()]).toEqual([
      400,
      expect.objectContaining({ code: 'bad.authParams' }),
    ]);
  });
});

test('a login page is stored for ten minutes, and for an hour once a form was posted', async () => {
  const browser = new Browser(gate);
  const seconds = async () => (await kept('Interaction')).map((one) => one.seconds).sort((a, b) => b - a)[0]!;
  await redis.del(...(await redis.keys(`${gate.redisPrefix}auth:Interaction:*`)));
  const page = await browser.authorize(base);
  const tenMinutes = async () => {
    const left = await seconds();
    expect(left).toBeGreaterThan(0); // negative: for ever
    expect(left).toBeLessThanOrEqual(600);
  };
  await tenMinutes();
  // A form without its token is no answer.
  expect((await browser.submit(page, { csrf: 'made up' })).status).toBe(403);
  await tenMinutes();

  const url = new URL(page.forms[0]!.action, page.url);
  const answered = await fetch(url, {
    method: 'POST',
    body: new URLSearchParams({ ...page.forms[0]!.fields, identifier: 'alice@example.com' }),
    headers: { cookie: browser.cookieHeader(url) },
    redirect: 'manual',
  });
  expect(await seconds()).toBeGreaterThan(3_500);
  const next = await browser.get(new URL(answered.headers.get('location')!, url).href);
  // The form was answered by a redirect, which the browser has followed.
  const lives = answered.headers.getSetCookie().filter((line) => /^_(interaction|resume)=/.test(line));
  expect(lives).toHaveLength(2);
  for (const line of lives)
    expect(Date.parse(/expires=([^;]+)/i.exec(line)![1]!) - Date.now()).toBeGreaterThan(3_500_000);
  const done = await browser.submit(next, { password: 'correct horse battery staple', action: 'default' });
  expect(done.location?.searchParams.get('code')).toBeTruthy();
});

test('a logout request without a session stores only a small session for ten minutes', async () => {
  const state = 'x'.repeat(3_000);
  expect((await gate.get(`oidc/logout?state=${state}`)).status).toBe(400);
  expect((await gate.post('oidc/logout', { state: 'x'.repeat(50_000) })).status).toBe(400);
  const before = await redis.keys(`${gate.redisPrefix}auth:Session:*`);
  expect((await gate.get('oidc/logout?state=s')).status).toBe(200);
  const after = await redis.keys(`${gate.redisPrefix}auth:Session:*`);
  const [fresh] = after.filter((key) => !before.includes(key));
  const left = await redis.ttl(fresh!);
  expect(left).toBeGreaterThan(0); // negative: for ever, or no such key
  expect(left).toBeLessThanOrEqual(600);
  expect(await redis.memory('USAGE', fresh!)).toBeLessThan(2_000);
});
