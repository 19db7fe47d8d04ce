/** The FAPI 2.0 Security Profile, clause by clause (docs/reference/fapi.md), for a client that is set to it. */
import { createHash, randomUUID } from 'node:crypto';
import { Browser } from '@gatepost/testkit/browser';
import { pkce } from '@gatepost/testkit/pkce';
import { afterAll, describe, expect, test } from '@jest/globals';
import {
  calculateJwkThumbprint,
  decodeJwt,
  decodeProtectedHeader,
  exportJWK,
  generateKeyPair,
  importJWK,
  SignJWT,
} from 'jose';
import * as client from 'openid-client';
import { openGate } from './gate.ts';
import { managerSeed, openManager } from './manager.ts';
import { api, fullSeed } from './seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const keys = await generateKeyPair('PS256', { extractable: true, modulusLength: 2048 });
const dpopKeys = await generateKeyPair('ES256', { extractable: true });
const redirect_uri = 'https://bank.example/cb';
// The key is good for RS256 as well: only the profile says no.
const jwks = { keys: [{ ...(await exportJWK(keys.publicKey)), kid: 'k1', use: 'sig' }] };
const bank = {
  client_id: 'bank',
  compliance_level: 'fapi2_sp_pkj_dpop',
  callbacks: [redirect_uri],
  grant_types: ['authorization_code', 'refresh_token', 'client_credentials', 'implicit', 'password'],
  token_endpoint_auth_method: 'private_key_jwt',
  refresh_token: { rotation_type: 'rotating' },
  jwks,
  client_grants: [{ audience: api, scope: ['read:x'] }],
};
const gate = stack.use(
  await openGate({
    ...fullSeed,
    settings: undefined,
    clients: [
      ...fullSeed.clients,
      bank,
      { ...bank, client_id: 'plain', compliance_level: 'none' },
      managerSeed(['create:clients', 'update:clients', 'update:client_keys']),
    ],
  }),
);
const { issuer } = gate;
const manage = await openManager(gate);

type Claims = Record<string, unknown>;
type Form = Record<string, string>;

// The same RSA key, as a key for RS256: WebCrypto binds each to one algorithm.
const { alg: _alg, ...privateJwk } = await exportJWK(keys.privateKey);
const rs256Key = await importJWK({ ...privateJwk, alg: 'RS256' }, 'RS256');
const sign = (claims: Claims, alg: string) =>
  new SignJWT(claims).setProtectedHeader({ alg, kid: 'k1' }).sign(alg === 'RS256' ? rs256Key : keys.privateKey);

async function assertion(claims: Claims = {}, alg = 'PS256', client_id = 'bank'): Promise<Form> {
  const now = Math.floor(Date.now() / 1000);
  const whole = { iss: client_id, sub: client_id, aud: issuer, jti: randomUUID(), iat: now, exp: now + 60, ...claims };
  return {
    client_id,
    client_assertion: await sign(whole, alg),
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  };
}
async function proof(path: string, method = 'POST', accessToken?: string, pair = dpopKeys): Promise<Form> {
  const ath = accessToken && { ath: createHash('sha256').update(accessToken).digest('base64url') };
  const jwt = new SignJWT({ jti: randomUUID(), htm: method, htu: `${issuer}${path}`, ...ath }).setIssuedAt();
  const jwk = await exportJWK(pair.publicKey);
  return { dpop: await jwt.setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk }).sign(pair.privateKey) };
}

const { code_verifier, ...challenge } = pkce();
const request = { response_type: 'code', redirect_uri, scope: 'openid email offline_access', state: 's', ...challenge };

const push = async (params: Form = request, auth?: Form, headers: Form = {}) =>
  gate.post('oauth/par', { ...params, ...(auth ?? (await assertion())) }, headers);
async function codeFor(headers: Form = {}): Promise<string> {
  const { json } = await push({ ...request, audience: api }, undefined, headers);
  const browser = new Browser(gate);
  const page = await browser.get(
    `authorize?${new URLSearchParams({ client_id: 'bank', request_uri: json.request_uri as string })}`,
  );
  const { location } = await browser.logIn(page);
  expect(location!.searchParams.get('iss')).toBe(issuer);
  return location!.searchParams.get('code')!;
}
const redeem = async (code: string, headers?: Form) =>
  gate.post(
    'oauth/token',
    { grant_type: 'authorization_code', code, redirect_uri, code_verifier, ...(await assertion()) },
    headers ?? (await proof('oauth/token')),
  );

test('openid-client signs in with PAR, private_key_jwt, PKCE and DPoP, refreshes and asks userinfo', async () => {
  const auth = client.PrivateKeyJwt({ key: keys.privateKey, kid: 'k1' });
  const config = await client.discovery(new URL(issuer), 'bank', { id_token_signed_response_alg: 'PS256' }, auth, {
    execute: [client.allowInsecureRequests],
  });
  const DPoP = client.getDPoPHandle(config, await client.randomDPoPKeyPair());
  const pkceCodeVerifier = client.randomPKCECodeVerifier();
  const expectedNonce = 'n'.repeat(64); // 5.3.2.2, 14
  const url = await client.buildAuthorizationUrlWithPAR(
    config,
    {
      redirect_uri,
      scope: 'openid email offline_access',
      code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
      nonce: expectedNonce,
      audience: api,
    },
    { DPoP },
  );
  const browser = new Browser(gate);
  const { location } = await browser.logIn(await browser.get(url.href));
  const checks = { pkceCodeVerifier, expectedNonce, idTokenExpected: true };
  const tokens = await client.authorizationCodeGrant(config, location!, checks, undefined, { DPoP });
  expect(tokens.token_type).toBe('dpop');
  expect(decodeProtectedHeader(tokens.id_token!).alg).toBe('PS256');
  expect(decodeJwt(tokens.access_token).cnf).toMatchObject({ jkt: expect.any(String) });
  const fresh = await client.refreshTokenGrant(config, tokens.refresh_token!, undefined, { DPoP });
  // 5.3.2.1, 9: not rotated, though the client is set to it.
  expect(fresh.refresh_token ?? tokens.refresh_token).toBe(tokens.refresh_token);
  await client.refreshTokenGrant(config, tokens.refresh_token!, undefined, { DPoP });
  const user = await client.fetchUserInfo(config, fresh.access_token, 'auth0|alice', { DPoP });
  expect(user.email).toBe('alice@example.com');
});

describe('client authentication', () => {
  const refused = { status: 401, json: { error: 'invalid_client' } };

  // 5.3.2.1, 8
  test.each([
    ['a list, even of the issuer alone', [issuer]],
    ['the token endpoint', `${issuer}oauth/token`],
    ['the PAR endpoint', `${issuer}oauth/par`],
    ['another', 'https://other.example/'],
  ])('the aud of an assertion must be the issuer as a string, not %s', async (_what, aud) => {
    expect(await push(request, await assertion({ aud }))).toMatchObject(refused);
    expect((await push(request, await assertion())).status).toBe(201);
  });

  // 5.4.1, 2
  test('RS256 is refused for a FAPI client, though other clients may use it with the same key', async () => {
    expect(await push(request, await assertion({}, 'RS256'))).toMatchObject(refused);
    expect((await push(request, await assertion({}, 'RS256', 'plain'))).status).toBe(201);
  });

  // 5.3.2.1, 13
  test('an assertion from a clock eight seconds ahead is accepted, from one a minute ahead it is not', async () => {
    const now = Math.floor(Date.now() / 1000);
    const ahead = (seconds: number) => ({ iat: now + seconds, nbf: now + seconds, exp: now + seconds + 60 });
    expect((await push(request, await assertion(ahead(8)))).status).toBe(201);
    expect(await push(request, await assertion(ahead(70)))).toMatchObject(refused);
    expect(await push(request, await assertion({ iat: now + 70, exp: now + 130 }))).toMatchObject(refused);
  });

  // 5.3.2.2, 4
  test('a pushed request without client authentication, or with a used assertion, is refused', async () => {
    expect((await push(request, { client_id: 'bank' })).status).toBe(401);
    const once = await assertion();
    expect((await push(request, once)).status).toBe(201);
    expect(await push(request, once)).toMatchObject(refused);
  });
});

describe('authorization requests', () => {
  const error = (fields: object) => ({ status: 400, json: fields });

  // 5.3.2.2, 3
  test('an authorization request that was not pushed is refused', async () => {
    const page = await new Browser(gate).authorize({ ...request, client_id: 'bank' });
    expect(page.location?.searchParams.get('error') ?? page.status).toBe('invalid_request');
    expect(page.location?.searchParams.has('code')).toBe(false);
  });

  // 5.3.2.2, 5 and 6
  test.each(['redirect_uri', 'code_challenge', 'code_challenge_method'] as const)('%s is mandatory', async (name) => {
    const { [name]: _, ...rest } = request;
    expect(await push(rest)).toMatchObject(error({ error: 'invalid_request' }));
  });

  test('PKCE accepts S256 only', async () => {
    expect(await push({ ...request, code_challenge_method: 'plain' })).toMatchObject(
      error({ error: 'invalid_request' }),
    );
  });

  // 5.3.2.2, 1
  test.each(['code id_token', 'id_token token', 'token'])('response_type %s is refused', async (response_type) => {
    const { json, status } = await push({ ...request, response_type, nonce: 'n' });
    expect([status, json.error]).toEqual([400, 'unauthorized_client']);
  });

  // 5.4.1, 2, and RFC 9101
  test('a request object needs an allowed algorithm and a bounded lifetime', async () => {
    const object = async (alg: string, seconds = 60) => {
      const now = Math.floor(Date.now() / 1000);
      const claims = { ...request, client_id: 'bank', iss: 'bank', aud: issuer, nbf: now, exp: now + seconds };
      return { request: await sign(claims, alg) };
    };
    expect((await push(await object('PS256'))).status).toBe(201);
    for (const refused of [await object('RS256'), await object('PS256', 4_000)])
      expect(await push(refused)).toMatchObject(error({ error: 'invalid_request_object' }));
  });

  // 5.3.2.2, 12
  test('a pushed request expires within ten minutes', async () => {
    expect((await push()).json.expires_in).toBeLessThan(600);
  });
});

describe('tokens of a FAPI client', () => {
  // 5.3.2.1, 4 and 5
  test('no grant issues a token without a DPoP proof', async () => {
    const code = await codeFor();
    expect(await redeem(code, {})).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
    const machine = { grant_type: 'client_credentials', audience: api };
    expect((await gate.post('oauth/token', { ...machine, ...(await assertion()) })).status).toBe(400);
    const { json } = await gate.post('oauth/token', { ...machine, ...(await assertion()) }, await proof('oauth/token'));
    expect(json.token_type).toBe('DPoP');
  });

  // 5.3.2.1, 12
  test('a code bound to a DPoP key, by proof or by its thumbprint, can be redeemed with that key only', async () => {
    const other = await generateKeyPair('ES256', { extractable: true });
    const byProof = await codeFor(await proof('oauth/par'));
    expect(await redeem(byProof, await proof('oauth/token', 'POST', undefined, other))).toMatchObject({
      status: 400,
      json: { error: 'invalid_grant' },
    });
    const dpop_jkt = await calculateJwkThumbprint(await exportJWK(dpopKeys.publicKey));
    const { json } = await push(
      { ...request, dpop_jkt },
      undefined,
      await proof('oauth/par', 'POST', undefined, other),
    );
    expect(json.error).toBe('invalid_request');
  });

  test('a token is refused without its DPoP key', async () => {
    const { json } = await redeem(await codeFor());
    const token = json.access_token as string;
    for (const scheme of ['Bearer', 'DPoP'])
      expect((await gate.get('userinfo', { authorization: `${scheme} ${token}` })).status).toBeGreaterThanOrEqual(400);
    const proven = { authorization: `DPoP ${token}`, ...(await proof('userinfo', 'GET', token)) };
    expect((await gate.get('userinfo', proven)).status).toBe(200);
  });

  // 5.3.2.2, 9
  test('a code works once, and its second use revokes the tokens of the first', async () => {
    const code = await codeFor();
    const { json } = await redeem(code);
    expect((await redeem(code)).json.error).toBe('invalid_grant');
    const token = json.access_token as string;
    const proven = { authorization: `DPoP ${token}`, ...(await proof('userinfo', 'GET', token)) };
    expect((await gate.get('userinfo', proven)).status).toBe(401);
  });

  // 5.3.2.1, 2
  test('no other grant works, even if the client lists it', async () => {
    const form = { grant_type: 'password', username: 'alice@example.com', password: 'correct horse battery staple' };
    const { json } = await gate.post('oauth/token', { ...form, ...(await assertion()) }, await proof('oauth/token'));
    expect(json.error).toBe('unauthorized_client');
  });
});

describe('a client that cannot have the FAPI profile', () => {
  const good = {
    name: 'Bank',
    compliance_level: 'fapi2_sp_pkj_dpop',
    token_endpoint_auth_method: 'private_key_jwt',
    jwks,
    callbacks: [redirect_uri],
    grant_types: ['authorization_code'],
  };

  // 5.3.2.1, 3 and 6; 5.3.2.2, 8
  test.each([
    ['that is public', { token_endpoint_auth_method: 'none', jwks: undefined }, /private_key_jwt/],
    ['with a secret', { token_endpoint_auth_method: 'client_secret_post', jwks: undefined }, /private_key_jwt/],
    ['that is sent its codes in the clear', { callbacks: ['http://bank.example/cb'] }, /https/],
    ['at a web server on localhost', { callbacks: ['http://localhost:3000/cb'] }, /https/],
    ['of a level with mutual TLS, which nobody serves here', { compliance_level: 'fapi2_sp_mtls_mtls' }, /compliance/],
  ])('a client %s is refused by the management API', async (_what, change, message) => {
    const { status, json } = await manage('POST', 'clients', { ...good, ...change });
    expect([status, json.message]).toEqual([400, expect.stringMatching(message)]);
  });

  test('the compliance level is stored, shown, enforced for later changes, and removed', async () => {
    const { status, json } = await manage('POST', 'clients', good);
    expect([status, json.compliance_level]).toEqual([201, 'fapi2_sp_pkj_dpop']);
    const path = `clients/${json.client_id}`;
    expect((await manage('PATCH', path, { callbacks: ['http://bank.example/'] })).status).toBe(400);
    expect((await manage('PATCH', path, { compliance_level: null })).json.compliance_level).toBeNull();
    expect((await manage('PATCH', path, { callbacks: ['http://bank.example/'] })).status).toBe(200);
  });

  test('a seed with an unsuitable client is refused and not applied', async () => {
    const seed = { ...fullSeed, clients: [{ ...bank, callbacks: ['http://bank.example/'] }] };
    await expect(openGate(seed)).rejects.toThrow('client bank: compliance_level');
  });
});
