/** Applications that registered themselves (RFC 7591) with what OpenID's dynamic plan wants: keys at an address, signed userinfo. */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Browser } from '@gatepost/testkit/browser';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import { decodeProtectedHeader, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import * as client from 'openid-client';
import { openGate, type TestGate } from './gate.ts';
import { managerSeed, managerToken } from './manager.ts';
import { api, fullSeed } from './seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const seed = {
  ...fullSeed,
  settings: undefined,
  clients: [managerSeed(['create:registration_tokens'])],
};
const gate = stack.use(await openGate(seed, { OUTBOUND_ALLOWED_NETWORKS: '127.0.0.1/32' }));

/** Where the application publishes its keys. */
let published: JWK[] = [];
let reads = 0;
const application = createServer((_request, response) => {
  reads += 1;
  response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: published }));
});
await new Promise<void>((resolve) => application.listen(0, '127.0.0.1', resolve));
stack.defer(async () => {
  application.closeAllConnections();
  await new Promise((resolve) => application.close(resolve));
});
const jwks_uri = `http://127.0.0.1:${(application.address() as AddressInfo).port}/jwks`;
const redirect_uri = 'https://registered.example/cb';

async function register(metadata: object, at: TestGate = gate) {
  const post = async (path: string, body: object, bearer: unknown) => {
    const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' };
    const response = await fetch(`${at.issuer}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return { status: response.status, json: (await response.json()) as Record<string, string> };
  };
  const initial = await post('api/v2/registration-tokens', { ttl_sec: 60 }, await managerToken(at));
  return post('oidc/register', { redirect_uris: [redirect_uri], ...metadata }, initial.json.token);
}

async function newKey(kid: string) {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
  return { kid, privateKey, publicJwk: { ...(await exportJWK(publicKey)), kid, use: 'sig', alg: 'ES256' } };
}
type Key = Awaited<ReturnType<typeof newKey>>;

/** What the gate says to a client that authenticates with this key, otherwise asking for nothing much. */
async function authenticate(client_id: string, key: Key, at: TestGate = gate): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const claims = { iss: client_id, sub: client_id, aud: at.issuer, jti: randomUUID(), iat: now, exp: now + 60 };
  const { json } = await at.post('oauth/token', {
    grant_type: 'refresh_token',
    refresh_token: 'none',
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: await new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: key.kid }).sign(key.privateKey),
  });
  return json.error as string;
}
const known = 'invalid_grant';
const unknown = 'invalid_client';
const byKeys = {
  token_endpoint_auth_method: 'private_key_jwt',
  grant_types: ['authorization_code', 'refresh_token'],
  jwks_uri,
};

test('keys at a jwks_uri authenticate, and a rotation counts at once for the new and the old key', async () => {
  const [first, second, strange] = await Promise.all(['k1', 'k2', 'k3'].map(newKey));
  published = [first!.publicJwk];
  const { status, json } = await register(byKeys);
  expect([status, json.jwks_uri]).toEqual([201, jwks_uri]);
  reads = 0;
  // A reading that a busy machine makes too slow is tried again.
  await until('the first key', async () => (await authenticate(json.client_id!, first!)) === known);
  published = [second!.publicJwk];
  await until('the new key', async () => (await authenticate(json.client_id!, second!)) === known);
  expect(await authenticate(json.client_id!, first!)).toBe(unknown);
  for (let tries = 0; tries < 10; tries += 1) expect(await authenticate(json.client_id!, strange!)).toBe(unknown);
  expect(reads).toBeLessThanOrEqual(5);
});

test('sec-099-jwks-uri: a jwks_uri in our own network is not fetched, unless it is listed', async () => {
  await using guarded = await openGate(seed);
  const key = await newKey('k1');
  published = [key.publicJwk];
  const { json } = await register(byKeys, guarded);
  reads = 0;
  expect(await authenticate(json.client_id!, key, guarded)).toBe(unknown);
  expect(reads).toBe(0);
});

test.each([
  ['keys that cross a network in the clear', { ...byKeys, jwks_uri: 'http://registered.example/jwks' }],
  ['keys here and there', { ...byKeys, jwks: { keys: [] } }],
  ['sectors', { sector_identifier_uri: 'https://registered.example/sector' }],
  ['a space before a redirect URI', { redirect_uris: [` ${redirect_uri}`] }],
  ['a space after a logout address', { post_logout_redirect_uris: ['https://registered.example/ '] }],
  ['userinfo signed with a shared key', { userinfo_signed_response_alg: 'HS256' }],
])('a registration with %s is refused', async (_what, metadata) => {
  const { status, json } = await register(metadata);
  expect([status, json.error]).toEqual([400, 'invalid_client_metadata']);
  expect(json.error_description).not.toMatch(/could not load/); // it was not even read
});

test.each([
  ['mcp:tools offline_access', 'offline_access'],
  ['mcp:tools', undefined],
])('a registration may name the scopes of an API (%s), of which only those of OpenID are kept', async (scope, kept) => {
  const { status, json } = await register({ scope });
  expect([status, json.scope]).toEqual([201, kept]);
  const browser = new Browser(gate);
  const asking = { client_id: json.client_id!, redirect_uri, response_type: 'code', scope: 'read:x', audience: api };
  const consent = await browser.logIn(await browser.authorize(asking));
  const { location } = await browser.submit(consent, { action: 'default' });
  expect(location?.searchParams.get('code')).toBeTruthy();
});

test.each(['RS256', 'ES256'])('openid-client reads userinfo signed with %s as registered', async (alg) => {
  const { json } = await register({ userinfo_signed_response_alg: alg });
  const metadata = { userinfo_signed_response_alg: alg, client_secret: json.client_secret! };
  const config = await client.discovery(new URL(gate.issuer), json.client_id!, metadata, undefined, {
    execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks],
  });
  const url = client.buildAuthorizationUrl(config, { redirect_uri, scope: 'openid email', state: 's' });
  const browser = new Browser(gate);
  const consent = await browser.logIn(await browser.get(url.href));
  const { location } = await browser.submit(consent, { action: 'default' });
  const tokens = await client.authorizationCodeGrant(config, location!, { expectedState: 's' });
  expect((await client.fetchUserInfo(config, tokens.access_token, 'auth0|alice')).email).toBe('alice@example.com');
  const signed = await gate.get('userinfo', { authorization: `Bearer ${tokens.access_token}` });
  expect(signed.headers.get('content-type')).toBe('application/jwt; charset=utf-8');
  expect(decodeProtectedHeader(signed.text).alg).toBe(alg);
});
