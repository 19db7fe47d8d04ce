/** sec-083 to sec-095: what was issued, how long it is good and for whom. */
import { createHash, randomUUID } from 'node:crypto';
import { pkce } from '@gatepost/testkit/pkce';
import { afterAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import {
  calculateJwkThumbprint,
  createRemoteJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  exportJWK,
  generateKeyPair,
  jwtVerify,
  SignJWT,
} from 'jose';
import { hashId } from '../../src/adapter/hashed.ts';
import { artefactKey } from '../../src/adapter/redis.ts';
import { openManager } from '../manager.ts';
import { api } from '../seeds.ts';
import { callback, openTarget, type Tokens } from './target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const target = stack.use(await openTarget());
const { gate, issuer, codeFor, redeem, refresh, userinfo, machineToken } = target;
const alice = await target.loggedIn();
const tokensFor = async (client: string, params: Record<string, string> = {}) =>
  (await redeem(client, await codeFor(client, params, alice))).json as Tokens;
const refused = { status: 400, json: { error: 'invalid_grant' } };

describe('refresh tokens', () => {
  test('sec-083-replay: reuse revokes the whole family with its access tokens', async () => {
    const first = await tokensFor('spa', { audience: api });
    const second = (await refresh('spa', first.refresh_token)).json as Tokens;
    expect(await refresh('spa', first.refresh_token)).toMatchObject(refused);
    expect(await refresh('spa', second.refresh_token)).toMatchObject(refused);
    for (const { access_token } of [first, second]) expect((await userinfo(access_token)).status).toBe(401);
  });

  test('sec-084-race: of parallel refreshes one at most succeeds without leeway, and with it all get the same successor', async () => {
    for (let round = 0; round < 10; round += 1) {
      const strict = await tokensFor('spa');
      const answers = await Promise.all(Array.from({ length: 8 }, () => refresh('spa', strict.refresh_token)));
      expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1);
      const shared = await tokensFor('tabs');
      const tabs = await Promise.all(Array.from({ length: 8 }, () => refresh('tabs', shared.refresh_token)));
      expect(tabs.map(({ status }) => status)).toEqual(Array(8).fill(200));
      expect(new Set(tabs.map(({ json }) => json.refresh_token)).size).toBe(1);
    }
  });

  test('sec-085-generations: within the leeway the previous token works, and an older one revokes the family', async () => {
    const first = await tokensFor('tabs');
    const second = (await refresh('tabs', first.refresh_token)).json as Tokens;
    const third = (await refresh('tabs', second.refresh_token)).json as Tokens;
    expect(await refresh('tabs', first.refresh_token)).toMatchObject(refused);
    expect(await refresh('tabs', third.refresh_token)).toMatchObject(refused);
  });

  test('sec-086-restart: a token used before a restart is refused after it', async () => {
    const first = await tokensFor('spa');
    await refresh('spa', first.refresh_token);
    const { DATABASE_URL, SECRETS_KEY } = gate.env as { DATABASE_URL: string; SECRETS_KEY: string };
    // Redis is lost as well: rotation is remembered in PostgreSQL.
    await using restarted = await openTarget({ DATABASE_URL, SECRETS_KEY });
    expect(await restarted.refresh('spa', first.refresh_token)).toMatchObject(refused);
  });

  test('sec-087-bound: tokens are bound to their client, and those of public clients rotate', async () => {
    const first = await tokensFor('spa');
    expect(await refresh('tabs', first.refresh_token)).toMatchObject(refused);
    const second = (await refresh('spa', first.refresh_token)).json as Tokens;
    expect(second.refresh_token).not.toBe(first.refresh_token);
  });
});

describe('revocation and introspection', () => {
  const as = (client_id: string) => ({ client_id, client_secret: `${client_id}-secret` });
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  /** Tokens of nobody's, in every shape. */
  const unknown = (jwt: string) => [
    'rubbish',
    'a.b.c',
    '~~~',
    '.',
    `${part({ alg: 'none' })}.${part({ sub: 'x' })}.`,
    `${part({ alg: 'RS256' })}.${part({ sub: 'x' })}.c2ln`,
    `${part({ alg: 'RS256' })}.${part({ sub: 'x' })}.c2ln==`,
    `${part({ alg: 'RSA-OAEP', enc: 'A128GCM' })}.a.b.c.d`,
    `${part({ alg: 'dir', enc: 'A128GCM' })}..b.c.d`,
    `${part({ alg: 'RS256' })}.${'x'.repeat(40_000)}.c2ln==`,
    `${jwt} `,
    `${jwt}.`,
  ];

  test('sec-088-revocation: another client’s token is left alone, and a refresh token takes its access tokens along', async () => {
    const tokens = (
      await redeem('web', { ...(await codeFor('web', { audience: api }, alice)), client_secret: 'web-secret' })
    ).json as Tokens;
    for (const token of [tokens.refresh_token, tokens.access_token, ...unknown(tokens.access_token)])
      expect(await gate.post('oauth/revoke', { token, ...as('machine') })).toMatchObject({ status: 200, text: '' });
    expect((await userinfo(tokens.access_token)).status).toBe(200);
    expect((await gate.post('oauth/revoke', { token: tokens.refresh_token, ...as('web') })).status).toBe(200);
    expect((await userinfo(tokens.access_token)).status).toBe(401);
    expect(await refresh('web', tokens.refresh_token, { client_secret: 'web-secret' })).toMatchObject(refused);
  });

  test('sec-089-introspection: needs authentication, and for an unrelated client every token is inactive', async () => {
    const { access_token } = await tokensFor('spa', { audience: api, scope: 'openid read:x' });
    expect((await gate.post('oauth/introspect', { token: access_token, ...as('machine') })).json).toEqual({
      active: false,
    });
    for (const token of unknown(access_token)) {
      const { status, json } = await gate.post('oauth/introspect', { token, ...as('api') });
      expect({ token, status, json }).toEqual({ token, status: 200, json: { active: false } });
    }
    expect((await gate.post('oauth/introspect', { token: access_token })).status).not.toBe(200);
    expect((await gate.post('oauth/introspect', { token: access_token, ...as('api') })).json).toMatchObject({
      active: true,
    });
  });
});

describe('JWTs', () => {
  const jwks = createRemoteJWKSet(new URL(`${issuer}.well-known/jwks.json`));

  test('sec-090-access-token: has type JWT, all claims of RFC 9068 and nothing about the person', async () => {
    const { access_token } = await tokensFor('spa', { audience: api, scope: 'openid profile email read:x' });
    const { payload, protectedHeader } = await jwtVerify(access_token, jwks, { issuer, audience: api, typ: 'JWT' });
    expect(protectedHeader.alg).toBe('RS256');
    for (const claim of ['iss', 'aud', 'exp', 'iat', 'sub', 'client_id', 'jti', 'scope'])
      expect(payload).toHaveProperty(claim);
    for (const claim of ['name', 'email', 'phone_number', 'nickname']) expect(payload).not.toHaveProperty(claim);
  });

  test('sec-090-confusion: an ID token is not accepted as an access token, nor the other way round', async () => {
    const { id_token, access_token } = await tokensFor('spa', { audience: api });
    expect((await userinfo(id_token)).status).toBe(401);
    const hint = await alice.get(`oidc/logout?id_token_hint=${access_token}`);
    expect(hint.status).toBe(400);
    const tampered = `${access_token.split('.').slice(0, 2).join('.')}.${'A'.repeat(342)}`;
    const none = `${btoa('{"alg":"none","typ":"at+jwt"}').replaceAll('=', '')}.${access_token.split('.')[1]}.`;
    for (const token of [tampered, none]) expect((await userinfo(token)).status).toBe(401);
    const headers = { authorization: `Bearer ${id_token}` };
    expect((await gate.get('api/v2/clients', headers)).status).toBe(401);
  });

  test('sec-091-id-token: has nonce, at_hash and c_hash where the flow needs them, and a nonce is required', async () => {
    const half = (value: string) => createHash('sha256').update(value).digest().subarray(0, 16).toString('base64url');
    const request = {
      client_id: 'spa',
      redirect_uri: callback,
      scope: 'openid',
      response_type: 'code id_token token',
      ...pkce(),
    };
    const page = await alice.authorize({ ...request, nonce: 'mine' });
    const answer = Object.fromEntries(new URLSearchParams(page.location!.hash.slice(1)));
    expect(decodeJwt(answer.id_token!)).toMatchObject({
      aud: 'spa',
      nonce: 'mine',
      at_hash: half(answer.access_token!),
      c_hash: half(answer.code!),
    });
    expect(decodeProtectedHeader(answer.id_token!).alg).toBe('RS256');
    const without = await alice.authorize(request);
    expect(new URLSearchParams(without.location!.hash.slice(1)).get('error')).toBe('invalid_request');
  });

  test('sec-092-scheme: is case-insensitive, and a token without a scheme or with another one is refused', async () => {
    const { access_token } = await tokensFor('spa');
    for (const scheme of ['Bearer', 'bearer', 'BEARER'])
      expect((await gate.get('userinfo', { authorization: `${scheme} ${access_token}` })).status).toBe(200);
    for (const authorization of [access_token, `Basic ${access_token}`, `DPoP ${access_token}`])
      expect([400, 401]).toContain((await gate.get('userinfo', { authorization })).status);
    expect((await gate.get('userinfo')).headers.get('www-authenticate')).toMatch(/^Bearer/);
  });

  test('sec-094-keys: only public parts are published, each with its kid, and private parts are sealed at rest', async () => {
    const { json } = await gate.get('.well-known/jwks.json');
    for (const key of json.keys as Record<string, string>[]) {
      expect(key.kid).toBeTruthy();
      for (const part of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k']) expect(key).not.toHaveProperty(part);
    }
    const { rows } = await gate.pool.query('SELECT * FROM auth.signing_keys');
    expect(rows.length).toBeGreaterThan(0);
    expect(JSON.stringify(rows)).not.toMatch(/"(d|p|q|dp|dq|qi)\\?"\s*:/);
  });
});

test('sec-095-revoked-at-once: a blocked person’s tokens are refused everywhere at once', async () => {
  const tokens = (
    await redeem('web', {
      ...(await codeFor('web', {}, await target.loggedIn('bob@example.com'))),
      client_secret: 'web-secret',
    })
  ).json as Tokens;
  const manage = await openManager(gate);
  const block = (blocked: boolean) => manage('PATCH', 'users/auth0%7Cbob', { blocked });
  expect((await block(true)).status).toBe(200);
  expect((await userinfo(tokens.access_token)).status).toBe(401);
  expect(await refresh('web', tokens.refresh_token, { client_secret: 'web-secret' })).toMatchObject(refused);
  const web = { client_id: 'web', client_secret: 'web-secret' };
  expect((await gate.post('oauth/introspect', { token: tokens.access_token, ...web })).json).toEqual({ active: false });
  await block(false);
});

const pair = await generateKeyPair('ES256', { extractable: true });
const jwk = await exportJWK(pair.publicKey);

describe('sec-093-dpop: proofs', () => {
  let nonce: string | undefined;
  type Proof = { claims?: object; header?: object; key?: CryptoKey | Uint8Array };
  const proof = (htm: string, path: string, { claims = {}, header = {}, key = pair.privateKey }: Proof = {}) =>
    new SignJWT({
      htm,
      htu: `${issuer}${path}`,
      jti: randomUUID(),
      iat: Math.floor(Date.now() / 1000),
      ...(nonce ? { nonce } : {}),
      ...claims,
    })
      .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk: jwk as never, ...header })
      .sign(key);
  const token = async (DPoP: string) => {
    const answer = await machineToken({}, { DPoP });
    nonce = answer.headers.get('dpop-nonce') ?? nonce;
    return answer;
  };
  const good = async () => {
    const first = await token(await proof('POST', 'oauth/token'));
    return first.json.error === 'use_dpop_nonce' ? token(await proof('POST', 'oauth/token')) : first;
  };

  test('a valid proof binds the token to its key', async () => {
    const { json } = await good();
    expect(json.token_type).toBe('DPoP');
    expect(decodeJwt(json.access_token as string).cnf).toEqual({ jkt: await calculateJwkThumbprint(jwk) });
  });

  test('a replayed proof is refused', async () => {
    await good();
    const value = await proof('POST', 'oauth/token');
    expect((await token(value)).status).toBe(200);
    expect((await token(value)).status).toBe(400);
  });

  test('a refresh token is not called invalid where its proof is missing, of another key or was used before', async () => {
    const made = () => proof('POST', 'oauth/token', { claims: { nonce: undefined } });
    let { json } = await redeem('spa', await codeFor('spa', {}, alice), { DPoP: await made() });
    const refreshWith = (headers: Record<string, string>) =>
      gate.post(
        'oauth/token',
        { grant_type: 'refresh_token', client_id: 'spa', refresh_token: json.refresh_token as string },
        headers,
      );
    const other = await generateKeyPair('ES256', { extractable: true });
    const ofOther = { header: { jwk: await exportJWK(other.publicKey) }, key: other.privateKey };
    const used = await made();
    ({ json } = await refreshWith({ DPoP: used }));
    const wrong: Record<string, string>[] = [{}, { DPoP: await proof('POST', 'oauth/token', ofOther) }, { DPoP: used }];
    for (const headers of wrong)
      expect(await refreshWith(headers)).toMatchObject({
        status: 400,
        json: { error: 'invalid_grant', error_description: 'grant request is invalid' },
      });
    expect((await refreshWith({ DPoP: await made() })).status).toBe(200);
  });

  // It is taken for five minutes more, and was forgotten meanwhile.
  test('a proof of a clock that is ahead is remembered as long as it would be accepted', async () => {
    await good();
    const jti = randomUUID();
    const iat = Math.floor(Date.now() / 1000) + 290;
    const value = await proof('POST', 'oauth/token', { claims: { iat, jti, nonce: undefined } });
    expect((await token(value)).status).toBe(200);
    const { REDIS_URL = '', REDIS_KEY_PREFIX = '' } = gate.env as Record<string, string>;
    const redis = new Redis(REDIS_URL);
    const key = `${artefactKey(`${REDIS_KEY_PREFIX}auth:`, 'ReplayDetection', hashId(hashId(`machine${jti}`)))}:seen`;
    const forgotten = await redis.expiretime(key);
    await redis.quit();
    expect(forgotten).toBeGreaterThanOrEqual(iat + 299);
  });

  test.each<[string, Proof]>([
    ['another method', { claims: { htm: 'GET' } }],
    ['another address', { claims: { htu: 'https://elsewhere.example/oauth/token' } }],
    ['an old time', { claims: { iat: Math.floor(Date.now() / 1000) - 3_600, nonce: undefined } }],
    ['a time in the future', { claims: { iat: Math.floor(Date.now() / 1000) + 3_600, nonce: undefined } }],
    ['another typ', { header: { typ: 'JWT' } }],
    ['no jti', { claims: { jti: undefined } }],
    ['a key with its private part', { header: { jwk: { ...jwk, d: 'AAAA' } } }],
    ['a symmetric key', { header: { alg: 'HS256', jwk: { kty: 'oct', k: 'AAAA' } }, key: new Uint8Array(32) }],
    ['a made-up nonce', { claims: { nonce: 'made up' } }],
  ])('a proof with %s is refused', async (_what, change) => {
    await good();
    const answer = await token(await proof('POST', 'oauth/token', change));
    expect(answer.status).toBe(400);
    expect(answer.json).not.toHaveProperty('access_token');
  });
});
