/** sec-035 to sec-044: the authorization code and PKCE. */

import { Browser } from '@gatepost/testkit/browser';
import { pkce } from '@gatepost/testkit/pkce';
import { afterAll, expect, test } from '@jest/globals';
import { api } from '../seeds.ts';
import { callback, openTarget, type Tokens } from './target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const target = stack.use(await openTarget());
const { gate, codeFor, redeem, refresh, userinfo } = target;
const alice = await target.loggedIn();
const refused = { status: 400, json: { error: 'invalid_grant' } };

test('sec-035-code-replay: the second use of a code is refused and revokes everything issued for the first', async () => {
  const given = await codeFor('spa', { audience: api }, alice);
  const tokens = (await redeem('spa', given)).json as Tokens;
  expect((await userinfo(tokens.access_token)).status).toBe(200);
  expect(await redeem('spa', given)).toMatchObject(refused);
  expect((await userinfo(tokens.access_token)).status).toBe(401);
  expect(await refresh('spa', tokens.refresh_token)).toMatchObject(refused);
});

test('sec-036-code-race: of eight parallel redemptions exactly one succeeds, round after round', async () => {
  for (let round = 0; round < 20; round += 1) {
    const given = await codeFor('spa', {}, alice);
    const answers = await Promise.all(Array.from({ length: 8 }, () => redeem('spa', given)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(400)]);
  }
});

test('sec-036-code-race-processes: exactly one succeeds with two processes too', async () => {
  const { DATABASE_URL, SECRETS_KEY, REDIS_KEY_PREFIX } = gate.env as Record<string, string>;
  const shared = { DATABASE_URL, SECRETS_KEY, REDIS_KEY_PREFIX, ISSUER: target.issuer } as Record<string, string>;
  await using second = await openTarget(shared);
  const port = second.gate.env.AUTH_PORT!;
  for (let round = 0; round < 10; round += 1) {
    const given = await codeFor('spa', {}, alice);
    const body = new URLSearchParams({ grant_type: 'authorization_code', client_id: 'spa', ...given });
    const there = () => fetch(`http://localhost:${port}/oauth/token`, { method: 'POST', body });
    const answers = await Promise.all([0, 1, 2, 3].flatMap(() => [redeem('spa', given), there()]));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  }
});

test('sec-037-foreign-code: another client gets nothing, and no unauthenticated request spends the code', async () => {
  const given = await codeFor('web', {}, alice);
  expect(await redeem('tabs', given)).toMatchObject(refused);
  expect((await redeem('web', given)).status).toBe(401);
  expect((await redeem('web', { ...given, client_secret: 'wrong' })).status).toBe(401);
  expect((await redeem('web', { ...given, client_secret: 'web-secret' })).status).toBe(200);
});

test('sec-038-expired: a code is refused after its minute', async () => {
  const given = await codeFor('spa', {}, alice);
  const now = Date.now;
  Date.now = () => now() + 61_000;
  try {
    expect(await redeem('spa', given)).toMatchObject(refused);
  } finally {
    Date.now = now;
  }
});

test('sec-010-token-redirect-uri, sec-011-redirect-uri: a missing or different redirect_uri at the token endpoint is refused', async () => {
  for (const redirect_uri of ['', 'https://app.example', `${callback}?x`]) {
    const given = await codeFor('spa', {}, alice);
    const answer = await redeem('spa', { ...given, redirect_uri });
    expect(answer.status).toBe(400);
    expect(['invalid_grant', 'invalid_request']).toContain(answer.json.error);
    if (redirect_uri !== '') expect(await redeem('spa', given)).toMatchObject(refused);
  }
});

test('sec-010-one-uri: a client with a single redirect URI must repeat it too, unless its request had none', async () => {
  const codeOf = async (params: Record<string, string>) => {
    const page = await alice.authorize({ client_id: 'web', response_type: 'code', scope: 'openid', ...params });
    return { code: page.location!.searchParams.get('code')!, client_secret: 'web-secret' };
  };
  const pushed = async (params: Record<string, string>) => {
    const client = { client_id: 'web', client_secret: 'web-secret' };
    const { json } = await gate.post('oauth/par', { ...client, response_type: 'code', scope: 'openid', ...params });
    return { request_uri: String(json.request_uri) };
  };
  const sent = { redirect_uri: callback };
  for (const params of [sent, { ...sent, without_redirect_uri: '1' }, await pushed(sent)]) {
    const given = await codeOf(params as Record<string, string>);
    expect(await redeem('web', given)).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
    expect(await redeem('web', { ...given, redirect_uri: '' })).toMatchObject({ status: 400 });
    expect((await redeem('web', { ...given, ...sent })).status).toBe(200);
  }
  for (const params of [{}, await pushed({})]) {
    expect((await redeem('web', await codeOf(params as Record<string, string>))).status).toBe(200);
    expect((await redeem('web', { ...(await codeOf({})), ...sent })).status).toBe(200);
  }
});

test('sec-039-no-verifier: a code with a challenge needs its verifier', async () => {
  const { code, redirect_uri } = await codeFor('spa', {}, alice);
  expect(await redeem('spa', { code, redirect_uri })).toMatchObject(refused);
});

test('sec-040-downgrade: a verifier for a code without a challenge is refused', async () => {
  const page = await alice.authorize({
    client_id: 'web',
    redirect_uri: callback,
    response_type: 'code',
    scope: 'openid',
  });
  const code = page.location!.searchParams.get('code')!;
  const { code_verifier } = pkce();
  expect(
    await redeem('web', { code, redirect_uri: callback, client_secret: 'web-secret', code_verifier }),
  ).toMatchObject(refused);
});

test.each([
  ['a wrong one', pkce().code_verifier],
  ['a short one', 'x'.repeat(42)],
  ['a long one', 'x'.repeat(129)],
  ['one of odd characters', `${'x'.repeat(42)}é`],
  ['the challenge itself', ''],
])('sec-041-verifier: %s is refused', async (_what, wrong) => {
  const given = await codeFor('spa', {}, alice);
  const answer = await redeem('spa', { ...given, code_verifier: wrong });
  expect(answer.status).toBe(400);
  expect(['invalid_grant', 'invalid_request']).toContain(answer.json.error);
});

test.each([
  ['plain', { code_challenge: 'x'.repeat(43), code_challenge_method: 'plain' }],
  ['no method, which means plain', { code_challenge: 'x'.repeat(43) }],
  ['a short challenge', { code_challenge: 'x'.repeat(42), code_challenge_method: 'S256' }],
  ['a long challenge', { code_challenge: 'x'.repeat(129), code_challenge_method: 'S256' }],
  ['a method without a challenge', { code_challenge_method: 'S256' }],
])('sec-041-challenge: %s is refused', async (_what, challenge) => {
  for (const client_id of ['spa', 'web']) {
    const request = { client_id, redirect_uri: callback, response_type: 'code', scope: 'openid' };
    const page = await alice.authorize({ ...request, ...(challenge as Record<string, string>) });
    expect(page.location!.searchParams.get('error')).toBe('invalid_request');
    expect(page.location!.searchParams.has('code')).toBe(false);
  }
});

test.each(['code', 'code id_token', 'code token', 'code id_token token'])(
  'sec-042-pkce-required: a public client must send a challenge for %s',
  async (response_type) => {
    const request = { client_id: 'spa', redirect_uri: callback, response_type, scope: 'openid', nonce: 'n' };
    const page = await alice.authorize(request);
    const { hash, search } = page.location!;
    expect(new URLSearchParams(hash ? hash.slice(1) : search).get('error')).toBe('invalid_request');
  },
);

test('sec-043-code-binding: a code is bound to its nonce and to the requested DPoP key', async () => {
  const { decodeJwt } = await import('jose');
  const given = await codeFor('spa', { nonce: 'of this request' }, alice);
  const { id_token } = (await redeem('spa', { ...given, nonce: 'another' })).json as Tokens;
  expect(decodeJwt(id_token).nonce).toBe('of this request');
  const bound = await codeFor('spa', { dpop_jkt: 'A'.repeat(43) }, alice);
  const unproven = await redeem('spa', bound);
  expect(unproven.status).toBe(400);
  expect(unproven.json).not.toHaveProperty('access_token');
});

test('sec-044-entropy: codes and tokens have at least 128 bits and no structure, and are hashed at rest', async () => {
  const given = await codeFor('spa', {}, alice);
  const waiting = await codeFor('spa', {}, alice);
  const tokens = (await redeem('spa', given)).json as Tokens;
  for (const value of [given.code, tokens.access_token, tokens.refresh_token]) {
    expect(value).toMatch(/^[\w-]{43,}$/);
    expect(Buffer.from(value, 'base64url').toString()).not.toMatch(/alice|spa/);
  }
  const { rows } = await gate.pool.query('SELECT * FROM auth.artefacts');
  expect(rows.length).toBeGreaterThan(0);
  const stored = JSON.stringify(rows);
  for (const value of [tokens.refresh_token, tokens.access_token]) expect(stored).not.toContain(value);

  const { Redis } = await import('ioredis');
  const redis = new Redis(gate.env.REDIS_URL!);
  const keys = await redis.keys(`${gate.redisPrefix}*`);
  const values = await Promise.all(
    keys.map(async (key) => [
      key,
      await redis
        .get(key)
        .catch(() => redis.hgetall(key))
        .catch(() => ''),
    ]),
  );
  redis.disconnect();
  expect(values.length).toBeGreaterThan(0);
  for (const value of [waiting.code, tokens.access_token]) expect(JSON.stringify(values)).not.toContain(value);
});

test('the tests’ helper logs in through the hosted pages', async () => {
  const browser = new Browser(gate);
  expect((await codeFor('web', {}, browser)).code).toBeTruthy();
});
