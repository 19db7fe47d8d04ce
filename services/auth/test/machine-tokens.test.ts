/** client_credentials, discovery and keys, as a machine client meets them. */
import { afterAll, expect, test } from '@jest/globals';
import { createRemoteJWKSet, decodeProtectedHeader, exportJWK, generateKeyPair, jwtVerify, SignJWT } from 'jose';
import * as oauth from 'oauth4webapi';
import * as client from 'openid-client';
import { openGate } from './gate.ts';
import { api, apis, machine } from './seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const { privateKey, publicKey } = await generateKeyPair('ES256');
const keyClient = {
  client_id: 'key-client',
  grant_types: ['client_credentials'],
  jwks: { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256', use: 'sig', kid: 'k1' }] },
  client_grants: [{ audience: 'urn:es', scope: ['read:x'] }],
};
const gate = stack.use(
  await openGate({
    apis,
    clients: [
      {
        ...machine,
        client_grants: [
          ...machine.client_grants,
          ...['urn:es', 'plain name', 'urn:ps'].map((audience) => ({ audience, scope: ['read:x'] })),
        ],
      },
      keyClient,
      { client_id: 'web', client_secret: 'web-secret', callbacks: ['https://web.example/cb'] },
    ],
  }),
);
const { issuer } = gate;
const jwks = createRemoteJWKSet(new URL(`${issuer}.well-known/jwks.json`));
const token = (form: Record<string, string> = {}) =>
  gate.post('oauth/token', {
    grant_type: 'client_credentials',
    client_id: 'machine',
    client_secret: 'machine-secret',
    audience: api,
    ...form,
  });

test('a JWT access token has the claims of RFC 9068 and ours, and verifies offline', async () => {
  const answer = await token();
  expect(answer.status).toBe(200);
  expect(answer.headers.get('cache-control')).toContain('no-store');
  expect(answer.json).toMatchObject({ token_type: 'Bearer', expires_in: 600, scope: 'read:x write:x' });
  expect(answer.json).not.toHaveProperty('refresh_token');
  const { payload, protectedHeader } = await jwtVerify(answer.json.access_token as string, jwks, {
    issuer,
    audience: api,
    typ: 'JWT',
    algorithms: ['RS256'],
  });
  expect(protectedHeader.kid).toBeDefined();
  expect(payload).toEqual({
    iss: issuer,
    sub: 'machine',
    aud: api,
    client_id: 'machine',
    azp: 'machine',
    first_party: true,
    scope: 'read:x write:x',
    jti: expect.any(String),
    iat: expect.any(Number),
    exp: payload.iat! + 600,
  });
});

test('`scope` narrows a token, and a scope that was not granted is invalid_scope', async () => {
  expect((await token({ scope: 'read:x' })).json.scope).toBe('read:x');
  const answer = await token({ scope: 'read:x admin:x' });
  expect(answer).toMatchObject({ status: 400, json: { error: 'invalid_scope' } });
});

test.each([
  ['urn:es', 'ES256'],
  ['plain name', 'EdDSA'],
  ['urn:ps', 'PS256'],
])('a token for %s is signed with %s', async (audience, alg) => {
  const { json } = await token({ audience });
  expect(decodeProtectedHeader(json.access_token as string).alg).toBe(alg);
  await jwtVerify(json.access_token as string, jwks, { issuer, audience, algorithms: [alg] });
});

test('sec-056-audience: an unknown audience and one without a client grant are errors, never ignored', async () => {
  expect(await token({ audience: 'https://unknown.example/' })).toMatchObject({
    status: 400,
    json: { error: 'invalid_target' },
  });
  const refused = await gate.post('oauth/token', {
    grant_type: 'client_credentials',
    client_id: 'machine',
    client_secret: 'machine-secret',
    audience: `${issuer}api/v2/`,
  });
  expect(refused.json.error).toBe('access_denied');
  expect(await token({ audience: api, resource: 'urn:es' })).toMatchObject({
    status: 400,
    json: { error: 'invalid_target' },
  });
});

test('`resource` means the same as `audience`', async () => {
  const answer = await gate.post('oauth/token', {
    grant_type: 'client_credentials',
    client_id: 'machine',
    client_secret: 'machine-secret',
    resource: api,
  });
  expect((await jwtVerify(answer.json.access_token as string, jwks)).payload.aud).toBe(api);
});

test('without an audience and without a default one there is no token, and the refusal says what is missing', async () => {
  const { status, json } = await gate.post('oauth/token', {
    grant_type: 'client_credentials',
    client_id: 'machine',
    client_secret: 'machine-secret',
  });
  expect(status).toBe(403);
  expect(json).toMatchObject({
    error: 'access_denied',
    error_description: 'No audience parameter was provided, and no default audience has been configured',
  });
});

test('there is no token for an organization, and the parameter is not just ignored', async () => {
  expect(await token({ audience: api, organization: 'org_1' })).toMatchObject({
    status: 400,
    json: { error: 'invalid_request', error_description: 'machines get no tokens for an organization' },
  });
});

test('introspection says whose a machine’s token is', async () => {
  const { access_token } = (await token({ audience: api })).json;
  const asked = { token: access_token as string, client_id: 'machine', client_secret: 'machine-secret' };
  expect((await gate.post('oauth/introspect', asked)).json).toMatchObject({ active: true, sub: 'machine' });
});

test.each([
  'oauth/token',
  'oauth/introspect',
  'oauth/revoke',
  'oauth/par',
  'oauth/device/code',
  'oidc/register',
  'userinfo',
])(
  'errors of %s are JSON, even for a program that sends a browser’s Accept, as Java’s HttpURLConnection does',
  async (path) => {
    const response = await fetch(issuer + path, {
      method: 'POST',
      headers: { accept: 'text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2' },
      body: new URLSearchParams({ grant_type: 'client_credentials', client_id: 'machine', client_secret: 'wrong' }),
    });
    expect(response.headers.get('content-type')).toMatch(/^application\/json/);
    expect(await response.json()).toMatchObject({ error: expect.any(String) });
    expect(response.status).toBeGreaterThanOrEqual(400);
  },
);

test('the token endpoint accepts JSON, as Auth0’s does', async () => {
  const response = await fetch(`${issuer}oauth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      grant_type: 'client_credentials',
      client_id: 'machine',
      client_secret: 'machine-secret',
      audience: api,
    }),
  });
  expect(response.status).toBe(200);
});

test.each([
  ['an array', '[]'],
  ['a nested object', '{"grant_type":{"a":1}}'],
  ['no JSON', '{'],
  ['a prototype key', '{"__proto__":{"grant_type":"client_credentials"}}'],
  ['too much', JSON.stringify({ grant_type: 'x'.repeat(60_000) })],
])('sec-059-json-body: %s is refused', async (_what, body) => {
  const response = await fetch(`${issuer}oauth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  expect([400, 413]).toContain(response.status);
  expect(await response.json()).toMatchObject({ error: 'invalid_request' });
});

test('a wrong secret and an unknown client get the same answer', async () => {
  const wrong = await token({ client_secret: 'wrong' });
  const unknown = await token({ client_id: 'nobody' });
  expect(wrong).toMatchObject({ status: 401, json: { error: 'invalid_client' } });
  expect(unknown.json).toEqual(wrong.json);
});

test('a client with a secret may use Basic or the body, and never authenticates without the secret', async () => {
  const basic = await gate.post(
    'oauth/token',
    { grant_type: 'client_credentials', audience: api },
    { authorization: `Basic ${btoa('machine:machine-secret')}` },
  );
  expect(basic.status).toBe(200);
  const none = await gate.post('oauth/token', {
    grant_type: 'client_credentials',
    client_id: 'machine',
    audience: api,
  });
  expect(none).toMatchObject({ status: 401, json: { error: 'invalid_client' } });
});

test('sec-045-two-methods: two authentication methods in one request are refused', async () => {
  const answer = await gate.post(
    'oauth/token',
    { grant_type: 'client_credentials', client_id: 'machine', client_secret: 'machine-secret' },
    { authorization: `Basic ${btoa('machine:machine-secret')}` },
  );
  expect(answer).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
});

test('private_key_jwt authenticates with the key of the seed, and accepts each assertion once', async () => {
  const assertion = await new SignJWT({})
    .setProtectedHeader({ alg: 'ES256', kid: 'k1' })
    .setIssuer('key-client')
    .setSubject('key-client')
    .setAudience(issuer)
    .setJti('assertion-1')
    .setIssuedAt()
    .setExpirationTime('1m')
    .sign(privateKey);
  const form = {
    grant_type: 'client_credentials',
    audience: 'urn:es',
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: assertion,
  };
  expect((await gate.post('oauth/token', form)).status).toBe(200);
  const replay = await gate.post('oauth/token', form);
  expect(replay.json.error).toBe('invalid_client');
});

test('a grant type that the client may not use is unauthorized_client', async () => {
  const answer = await gate.post('oauth/token', {
    grant_type: 'client_credentials',
    client_id: 'web',
    client_secret: 'web-secret',
  });
  expect(answer).toMatchObject({ status: 400, json: { error: 'unauthorized_client' } });
  const device = await gate.post('oauth/device/code', { client_id: 'web', client_secret: 'web-secret' });
  expect(device).toMatchObject({ status: 400, json: { error: 'unauthorized_client' } });
  const unknown = await token({ grant_type: 'made_up' });
  expect(unknown).toMatchObject({ status: 400, json: { error: 'unsupported_grant_type' } });
});

test('openid-client discovers the gate and gets a token', async () => {
  const config = await client.discovery(new URL(issuer), 'machine', 'machine-secret', undefined, {
    execute: [client.allowInsecureRequests],
  });
  expect(config.serverMetadata().issuer).toBe(issuer);
  const tokens = await client.clientCredentialsGrant(config, { audience: api });
  expect(tokens.scope).toBe('read:x write:x');
});

test('oauth4webapi discovers the gate through RFC 8414 too', async () => {
  const response = await oauth.discoveryRequest(new URL(issuer), {
    algorithm: 'oauth2',
    [oauth.allowInsecureRequests]: true,
  });
  const as = await oauth.processDiscoveryResponse(new URL(issuer), response);
  expect(as.token_endpoint).toBe(`${issuer}oauth/token`);
});

test('sec-103-host: absolute URLs come from the issuer, whatever Host or X-Forwarded-Host say', async () => {
  const { json } = await gate.get('.well-known/openid-configuration', {
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': 'https',
  });
  expect(json.issuer).toBe(issuer);
  for (const [name, value] of Object.entries(json))
    if (name.endsWith('_endpoint')) expect(value).toMatch(new RegExp(`^${issuer}`));
});

test('sec-094-jwks: the JWKS holds public keys only, one for each algorithm', async () => {
  const { json } = await gate.get('.well-known/jwks.json');
  const keys = json.keys as Record<string, unknown>[];
  expect(keys.map((key) => key.alg).sort()).toEqual(['ES256', 'EdDSA', 'PS256', 'RS256']);
  for (const key of keys) for (const part of ['d', 'p', 'q', 'dp', 'dq', 'qi']) expect(key).not.toHaveProperty(part);
});

test('two gates that start at once on an empty database agree on keys and seed', async () => {
  await using one = await openGate({ apis, clients: [machine] });
  const both = await Promise.all(
    [1, 2].map(() =>
      openGate({ apis, clients: [machine] }, { DATABASE_URL: one.databaseUrl, SECRETS_KEY: one.env.SECRETS_KEY! }),
    ),
  );
  await using closing = new AsyncDisposableStack();
  for (const opened of both) closing.use(opened);
  const kids = await Promise.all(
    [one, ...both].map(async (opened) =>
      ((await opened.get('.well-known/jwks.json')).json.keys as { kid: string }[]).map((key) => key.kid),
    ),
  );
  expect(kids[1]).toEqual(kids[0]);
  expect(kids[2]).toEqual(kids[0]);
});

test('a started gate is ready, and counts its tokens in metrics', async () => {
  const ready = await fetch(`${gate.opsUrl}/readyz`);
  expect(await ready.json()).toEqual({ status: 'ready' });
  const metrics = await (await fetch(`${gate.opsUrl}/metrics`)).text();
  expect(metrics).toMatch(/auth_tokens_issued_total\{grant_type="client_credentials"\} \d+/);
  expect(metrics).toMatch(/http_request_duration_seconds_count\{method="POST",route="token",status="200"\} \d+/);
});
