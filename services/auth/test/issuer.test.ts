/** An issuer whose name has no slash at its end, as users of go-oidc and others write it. */
import { Browser } from '@gatepost/testkit/browser';
import { afterAll, expect, test } from '@jest/globals';
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose';
import * as client from 'openid-client';
import { freePort, openGate } from './gate.ts';
import { managerSeed } from './manager.ts';
import { api, fullSeed, web } from './seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const port = await freePort();
const issuer = `http://localhost:${port}`;
const seed = { ...fullSeed, clients: [...fullSeed.clients, managerSeed(['read:clients', 'read:users'])] };
const gate = stack.use(await openGate(seed, { ISSUER: issuer, AUTH_PORT: String(port) }));

const { json: metadata } = await gate.get('.well-known/openid-configuration');

test('an issuer without a trailing slash is announced as configured, and every endpoint lies below it', () => {
  expect(metadata).toMatchObject({
    issuer,
    userinfo_endpoint: `${issuer}/userinfo`,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
  });
});

// openid-client compares `iss` with it, in the answer and in the ID token.
test('openid-client signs in at an issuer without a slash, and reads userinfo with the token of an API', async () => {
  const config = await client.discovery(new URL(issuer), 'web', undefined, client.ClientSecretPost('web-secret'), {
    execute: [client.allowInsecureRequests],
  });
  const redirect_uri = web.callbacks[0]!;
  const url = client.buildAuthorizationUrl(config, { redirect_uri, scope: 'openid email', state: 's', audience: api });
  const browser = new Browser(gate);
  const { location } = await browser.logIn(await browser.get(url.href));
  expect(location!.searchParams.get('iss')).toBe(issuer);
  const tokens = await client.authorizationCodeGrant(config, location!, { expectedState: 's', idTokenExpected: true });
  expect(decodeJwt(tokens.id_token!).iss).toBe(issuer);
  expect(decodeJwt(tokens.access_token)).toMatchObject({ iss: issuer, aud: [api, `${issuer}/userinfo`] });
  expect(await client.fetchUserInfo(config, tokens.access_token, 'auth0|alice')).toMatchObject({
    email: 'alice@example.com',
  });
  expect(await client.tokenIntrospection(config, tokens.access_token)).toMatchObject({ active: true, iss: issuer });
});

// The address of an export had no slash before its path.
test('the management API and its exports lie below an issuer without a slash as well', async () => {
  const form = { grant_type: 'client_credentials', client_id: 'manager', client_secret: 'manager-secret' };
  const { json } = await gate.post('oauth/token', { ...form, audience: `${issuer}/api/v2/` });
  const keys = createRemoteJWKSet(new URL(metadata.jwks_uri as string));
  await jwtVerify(json.access_token as string, keys, { issuer });
  const authorization = `Bearer ${json.access_token}`;
  expect((await gate.get('api/v2/clients', { authorization })).status).toBe(200);
  const begun = await fetch(`${issuer}/api/v2/jobs/users-exports`, { method: 'POST', headers: { authorization } });
  const { id } = (await begun.json()) as { id: string };
  const { location } = (await gate.get(`api/v2/jobs/${id}`, { authorization })).json;
  expect(location).toMatch(`${issuer}/exports/`);
  expect((await fetch(String(location))).status).toBe(200);
});
