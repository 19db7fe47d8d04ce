/** sec-045 to sec-060: the token endpoint and client authentication. */
import { afterAll, describe, expect, test } from '@jest/globals';
import { exportSPKI, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { openManager } from '../manager.ts';
import { api } from '../seeds.ts';
import { clientKey, openTarget, type Tokens } from './target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const target = stack.use(await openTarget());
const { gate, issuer, machineToken, codeFor, redeem, refresh } = target;
const alice = await target.loggedIn();
const basic = (id: string, secret: string) => ({ authorization: `Basic ${btoa(`${id}:${secret}`)}` });
const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
let sequence = 0;

type Header = { alg: string } & Record<string, unknown>;
async function assertion(
  claims: JWTPayload = {},
  {
    header = {},
    key = clientKey.privateKey as CryptoKey | Uint8Array,
  }: { header?: Partial<Header>; key?: CryptoKey | Uint8Array } = {},
): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  sequence += 1;
  const payload = { iss: 'keyed', sub: 'keyed', aud: issuer, iat: now, exp: now + 60, jti: `j${sequence}`, ...claims };
  return new SignJWT(payload).setProtectedHeader({ alg: 'RS256', kid: 'k1', ...header }).sign(key);
}
const byAssertion = (client_assertion: string, form: Record<string, string> = {}) =>
  gate.post('oauth/token', {
    grant_type: 'client_credentials',
    audience: api,
    client_assertion_type: assertionType,
    client_assertion,
    ...form,
  });

test('sec-045-two-methods: Basic beside a body or an assertion, or a secret beside an assertion, is refused', async () => {
  const both = await machineToken({}, basic('machine', 'machine-secret'));
  const form = { client_assertion_type: assertionType, client_assertion: await assertion() };
  const mixed = await machineToken({ client_id: '', client_secret: '', ...form }, basic('machine', 'machine-secret'));
  const body = await machineToken(form);
  for (const answer of [both, mixed, body]) expect([400, 401]).toContain(answer.status);
  for (const answer of [both, mixed, body]) expect(['invalid_request', 'invalid_client']).toContain(answer.json.error);
  expect(both.json.error).toBe('invalid_request');
});

test('sec-046-none-for-confidential: a client with a secret or key must use it', async () => {
  const bare = await gate.post('oauth/token', {
    grant_type: 'client_credentials',
    client_id: 'machine',
    audience: api,
  });
  const keyed = await gate.post('oauth/token', { grant_type: 'client_credentials', client_id: 'keyed', audience: api });
  const empty = await machineToken({ client_secret: '' });
  const blank = await gate.post('oauth/token', { grant_type: 'client_credentials' }, basic('machine', ''));
  for (const answer of [bare, keyed, empty, blank])
    expect(answer).toMatchObject({ status: 401, json: { error: 'invalid_client' } });
  const given = await codeFor('web', {}, alice);
  expect((await redeem('web', given)).status).toBe(401);
});

test('sec-047-query: credentials in the query are ignored, and GET is not a token request', async () => {
  const credentials = 'client_id=machine&client_secret=machine-secret';
  const inQuery = await gate.post(`oauth/token?${credentials}`, { grant_type: 'client_credentials', audience: api });
  expect([400, 401]).toContain(inQuery.status);
  const get = await gate.get(`oauth/token?grant_type=client_credentials&${credentials}`);
  expect([404, 405]).toContain(get.status);
});

test.each([
  ['no base64', 'Basic ???'],
  ['no colon', `Basic ${btoa('machine')}`],
  ['an empty secret', `Basic ${btoa('machine:')}`],
  ['another scheme', 'Bearer machine:machine-secret'],
  ['broken escapes', `Basic ${btoa('machine:%zz')}`],
  ['a wrong secret', `Basic ${btoa('machine:wrong')}`],
  ['an empty id', `Basic ${btoa(':x')}`],
  ['nothing', 'Basic '],
])('sec-048-basic: %s is invalid_client', async (_what, authorization) => {
  const answer = await gate.post('oauth/token', { grant_type: 'client_credentials' }, { authorization });
  expect(answer).toMatchObject({ status: 401, json: { error: 'invalid_client' } });
  expect(answer.headers.get('www-authenticate')).toMatch(/^Basic/);
});

test('sec-049-unknown-client: an unknown client is like a wrong secret in text and time', async () => {
  const wrong = await machineToken({ client_secret: 'wrong' });
  const unknown = await machineToken({ client_id: 'nobody', client_secret: 'wrong' });
  expect([unknown.status, unknown.text]).toEqual([wrong.status, wrong.text]);
});

describe('assertions of private_key_jwt', () => {
  test('a valid one is accepted, with the issuer as its audience', async () => {
    expect((await byAssertion(await assertion())).status).toBe(200);
  });

  const now = Math.floor(Date.now() / 1000);
  test.each<[string, JWTPayload]>([
    ['sec-052 foreign aud', { aud: 'https://elsewhere.example/' }],
    ['sec-052 iss is not the client', { iss: 'machine' }],
    ['sec-052 sub is not the client', { sub: 'machine' }],
    ['sec-052 expired', { iat: now - 600, exp: now - 300 }],
    ['sec-052 not yet valid', { nbf: now + 3_600 }],
    ['sec-052 issued in the future', { iat: now + 600 }],
    ['sec-052 without exp', { exp: undefined as never }],
    ['sec-053 without jti', { jti: undefined as never }],
  ])('%s: is refused', async (_what, claims) => {
    expect(await byAssertion(await assertion(claims))).toMatchObject({ json: { error: 'invalid_client' } });
  });

  test('one that would have to be remembered for years is refused for its lifetime, and one of an hour is accepted', async () => {
    for (const exp of [now + 2 * 3_600, now + 31_536_000, 1e300]) {
      const { status, json } = await byAssertion(await assertion({ exp }));
      expect([status, json]).toMatchObject([
        401,
        { error: 'invalid_client', error_description: expect.stringContaining('within an hour') },
      ]);
    }
    expect((await byAssertion(await assertion({ exp: now + 3_600 }))).status).toBe(200);
  });

  test('sec-051-alg: none, HS256 with the public key, and another key are refused', async () => {
    const payload = (await assertion()).split('.')[1];
    const none = `${btoa('{"alg":"none"}').replaceAll('=', '')}.${payload}.`;
    const spki = new TextEncoder().encode(await exportSPKI(clientKey.publicKey));
    const confused = await assertion({}, { header: { alg: 'HS256' }, key: spki });
    const jwkConfused = await assertion(
      {},
      { header: { alg: 'HS256' }, key: new TextEncoder().encode(JSON.stringify(clientKey.publicJwk)) },
    );
    const other = await generateKeyPair('RS256');
    const foreign = await assertion({}, { key: other.privateKey });
    for (const value of [none, confused, jwkConfused, foreign, 'x', 'a.b.c', ''])
      expect([400, 401]).toContain((await byAssertion(value)).status);
  });

  test.each([
    { kid: '../../etc/passwd' },
    { kid: "' OR 1=1 --" },
    { kid: 'https://evil.example/key' },
    { jku: 'https://evil.example/jwks' },
    { x5u: 'https://evil.example/cert' },
  ])('sec-051-header: %j is not followed', async (header) => {
    const other = await generateKeyPair('RS256');
    expect((await byAssertion(await assertion({}, { header, key: other.privateKey }))).json.error).toBe(
      'invalid_client',
    );
  });

  test('sec-051-embedded-jwk: a key inside the assertion is not used', async () => {
    const other = await generateKeyPair('RS256', { extractable: true });
    const { exportJWK } = await import('jose');
    const header = { jwk: await exportJWK(other.publicKey), kid: undefined as never };
    expect((await byAssertion(await assertion({}, { header, key: other.privateKey }))).json.error).toBe(
      'invalid_client',
    );
  });

  test('sec-053-replay: of eight parallel uses one succeeds, at two processes too', async () => {
    const { DATABASE_URL, SECRETS_KEY, REDIS_KEY_PREFIX } = gate.env as Record<string, string>;
    await using second = await openTarget({ DATABASE_URL, SECRETS_KEY, REDIS_KEY_PREFIX, ISSUER: issuer } as Record<
      string,
      string
    >);
    const value = await assertion();
    const there = () =>
      fetch(`http://localhost:${second.gate.env.AUTH_PORT}/oauth/token`, {
        method: 'POST',
        body: new URLSearchParams({
          grant_type: 'client_credentials',
          audience: api,
          client_assertion_type: assertionType,
          client_assertion: value,
        }),
      });
    const answers = await Promise.all([0, 1, 2, 3].flatMap(() => [byAssertion(value), there()]));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  test('sec-046-method: a client with a key cannot use its old secret or another key', async () => {
    expect((await byAssertion(await assertion({ iss: 'machine', sub: 'machine' }))).json.error).toBe('invalid_client');
    expect((await byAssertion(await assertion(), { client_id: 'machine' })).status).not.toBe(200);
  });
});

test('sec-054-two-secrets: both secrets work during a rotation, and a deleted client has none', async () => {
  const manage = await openManager(gate);
  const { json: made } = await manage('POST', 'clients', {
    name: 'short lived',
    app_type: 'non_interactive',
    grant_types: ['client_credentials'],
  });
  const token = () =>
    gate.post('oauth/token', {
      grant_type: 'client_credentials',
      client_id: made.client_id,
      client_secret: made.client_secret,
      audience: `${issuer}userinfo`,
    });
  expect((await token()).status).toBe(200);
  expect((await manage('DELETE', `clients/${made.client_id}`)).status).toBe(204);
  expect(await token()).toMatchObject({ status: 401, json: { error: 'invalid_client' } });
});

test('sec-055-scope: a scope that was not granted is invalid_scope, and a refresh cannot add one', async () => {
  expect((await machineToken({ scope: 'read:x admin:x' })).json.error).toBe('invalid_scope');
  const given = await codeFor('spa', { audience: api, scope: 'openid offline_access read:x' }, alice);
  const { refresh_token } = (await redeem('spa', given)).json as Tokens;
  expect((await refresh('spa', refresh_token, { scope: 'openid read:x write:x' })).json.error).toBe('invalid_scope');
});

test('sec-056-audience: an audience that is unknown or not granted, or two that differ, are refused', async () => {
  expect((await machineToken({ audience: 'https://unknown.example/' })).json.error).toBe('invalid_target');
  expect((await machineToken({ audience: 'urn:es' })).json.error).toBe('access_denied');
  expect((await machineToken({ audience: api, resource: 'urn:es' })).json.error).toBe('invalid_target');
  const { decodeJwt } = await import('jose');
  expect(decodeJwt((await machineToken()).json.access_token as string).aud).toBe(api);
});

test('sec-056-code-audience: a code is for the API that it was requested for', async () => {
  const given = await codeFor('spa', { audience: api, scope: 'openid read:x' }, alice);
  expect((await redeem('spa', { ...given, resource: 'urn:es' })).json).not.toHaveProperty('access_token');
});

test('sec-057-machine: client_credentials gives neither a refresh token nor an ID token', async () => {
  for (const scope of ['openid offline_access', 'openid', 'offline_access']) {
    for (const form of [{ scope }, { scope, audience: '' }] as Record<string, string>[]) {
      const { json } = await machineToken(form);
      expect(json).not.toHaveProperty('refresh_token');
      expect(json).not.toHaveProperty('id_token');
    }
  }
});

test('sec-058-implicit: the implicit flow gives no refresh token', async () => {
  const page = await alice.authorize({
    client_id: 'spa',
    redirect_uri: 'https://app.example/cb',
    response_type: 'id_token token',
    scope: 'openid offline_access',
    nonce: 'n',
  });
  const answer = Object.fromEntries(new URLSearchParams(page.location!.hash.slice(1)));
  expect(answer).toHaveProperty('access_token');
  expect(answer).not.toHaveProperty('refresh_token');
});

const form = 'grant_type=client_credentials&client_id=machine&client_secret=machine-secret';
test.each([
  ['text', 'text/plain', form],
  ['XML', 'application/xml', '<x/>'],
  ['multipart', 'multipart/form-data; boundary=x', '--x--'],
  ['no type', '', form],
  ['an odd charset', 'application/json; charset=utf-7', '{}'],
  ['an array', 'application/json', '[]'],
  ['a number', 'application/json', '1'],
  ['null', 'application/json', 'null'],
  ['nested objects', 'application/json', '{"grant_type":{"a":1}}'],
  ['nested arrays', 'application/json', '{"grant_type":[["client_credentials"]]}'],
  [
    'a prototype key',
    'application/json',
    '{"__proto__":{"grant_type":"client_credentials"},"constructor":{"prototype":{}}}',
  ],
  // Used to end the process: the stack ran out in a callback.
  ['deep objects', 'application/json', `${'{"a":'.repeat(9_000)}1${'}'.repeat(9_000)}`],
  ['deep arrays', 'application/json', `{"grant_type":${'['.repeat(25_000)}${']'.repeat(25_000)}}`],
  ['brackets', 'application/x-www-form-urlencoded', 'grant_type[a]=client_credentials&__proto__[x]=1'],
])('sec-059-body: %s is refused with 4xx', async (_what, type, body) => {
  const response = await fetch(`${issuer}oauth/token`, {
    method: 'POST',
    headers: type ? { 'content-type': type } : {},
    body: type ? body : new Blob([body]),
  });
  expect([400, 413, 415]).toContain(response.status);
  expect(await response.json()).toMatchObject({ error: 'invalid_request' });
  expect(({} as Record<string, unknown>).grant_type).toBeUndefined();
});

test.each([
  ['a list', { grant_type: ['client_credentials', 'client_credentials'] }],
  ['a list of one', { grant_type: ['client_credentials'] }],
  ['a list of scopes', { scope: ['read:x', 'write:x'] }],
  ['two audiences', { audience: [api, 'urn:es'] }],
  ['a list of secrets', { client_secret: ['machine-secret', 'wrong'] }],
  ['half a surrogate pair', { audience: '\ud800' }],
  ['a name twice', '"scope":"read:x","scope":"write:x"'],
  ['a name twice, once escaped', '"scope":"read:x","sc\\u006fpe":"write:x"'],
])('sec-031-json: %s in a JSON body is refused, like a repeated form parameter', async (_what, more) => {
  const form = {
    grant_type: 'client_credentials',
    client_id: 'machine',
    client_secret: 'machine-secret',
    audience: api,
  };
  const whole = JSON.stringify({ ...form, ...(typeof more === 'object' && more) });
  const body = typeof more === 'string' ? `${whole.slice(0, -1)},${more}}` : whole;
  const response = await fetch(`${issuer}oauth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  expect([response.status, ((await response.json()) as { error: string }).error]).toEqual([400, 'invalid_request']);
});

test.each(['urn:gatepost:api:%zz', 'urn:gatepost:api:%', 'urn:gatepost:api:%e0%a4', 'urn:gatepost:api:plain%20%6eame'])(
  'sec-056-unreadable: the audience %s is unknown at every endpoint',
  async (resource) => {
    const form = { client_id: 'web', client_secret: 'web-secret', resource };
    const { location } = await alice.authorize({
      client_id: 'web',
      redirect_uri: 'https://app.example/cb',
      response_type: 'code',
      scope: 'openid',
      resource,
    });
    expect(location!.searchParams.get('error')).toBe('invalid_target');
    const own = { client_id: 'machine', client_secret: 'machine-secret', grant_type: 'client_credentials', resource };
    const answers = [
      await gate.post('oauth/token', own),
      await gate.post('oauth/token?x', own),
      await gate.post('oauth/par', { ...form, response_type: 'code', redirect_uri: 'https://app.example/cb' }),
      await gate.post('oauth/device/code', { client_id: 'native', scope: 'openid', resource }),
      await gate.post('oauth/token', { ...own, resource: '', audience: resource }),
    ];
    for (const answer of answers) expect([answer.status, answer.json.error]).toEqual([400, 'invalid_target']);
  },
);

test('sec-060-answers: are not cached, have their token type, and contain no internals or secrets', async () => {
  const good = await machineToken();
  expect(good.json.token_type).toBe('Bearer');
  const answers = [
    good,
    await machineToken({ client_secret: 'a secret of mine' }),
    await machineToken({ grant_type: 'made_up' }),
    await redeem('spa', { code: 'a code of mine', redirect_uri: 'x', code_verifier: 'y'.repeat(43) }),
    await refresh('spa', 'a token of mine'),
  ];
  for (const { headers, text } of answers) {
    expect(headers.get('cache-control')).toContain('no-store');
    expect(text).not.toMatch(/of mine|node_modules|\.ts:\d|Prisma|at async/);
    expect(headers.get('x-powered-by')).toBeNull();
  }
});
