/** sec-096 to sec-100: request objects, pushed requests, registration, and what the gate fetches for a stranger. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Browser, type Page } from '@gatepost/testkit/browser';
import { pkce } from '@gatepost/testkit/pkce';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt, exportSPKI, generateKeyPair, SignJWT } from 'jose';
import { hashSecret } from '../../src/clients/secret.ts';
import { openManager } from '../manager.ts';
import { callback, clientKey, openTarget } from './target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const target = stack.use(await openTarget());
const { gate, issuer } = target;
const alice = await target.loggedIn();
const request = { client_id: 'keyed', response_type: 'code', redirect_uri: callback, scope: 'openid', state: 'inside' };
const { code_verifier: _, ...challenge } = pkce();
const errorOf = (page: Page) => page.location?.searchParams.get('error') ?? page.status;

// Whatever the gate fetches from here it must not: this is our own network.
const visits: string[] = [];
const inside = createServer((incoming, response) => {
  visits.push(incoming.url ?? '');
  response.setHeader('content-type', 'application/json').end('{"keys":[]}');
});
await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve));
stack.defer(() => new Promise<void>((resolve) => inside.close(() => resolve())));
const insideUrl = `http://127.0.0.1:${(inside.address() as AddressInfo).port}`;

describe('request objects', () => {
  type Change = { claims?: object; header?: object; key?: CryptoKey | Uint8Array };
  const object = ({ claims = {}, header = {}, key = clientKey.privateKey }: Change = {}) => {
    const now = Math.floor(Date.now() / 1000);
    return new SignJWT({ iss: 'keyed', aud: issuer, iat: now, exp: now + 60, ...request, ...claims })
      .setProtectedHeader({ alg: 'RS256', kid: 'k1', ...header })
      .sign(key);
  };
  const send = async (value: string, outside: object = {}) =>
    alice.authorize({ client_id: 'keyed', request: value, redirect_uri: callback, ...outside });

  test('a valid one is accepted, and parameters beside it are ignored', async () => {
    const page = await send(await object(), { state: 'outside' });
    expect(page.location!.searchParams.get('state')).toBe('inside');
    expect(page.location!.searchParams.has('code')).toBe(true);
  });

  test.each<[string, () => Promise<string>]>([
    ['alg none', async () => `${btoa('{"alg":"none"}').replaceAll('=', '')}.${(await object()).split('.')[1]}.`],
    [
      'HS256 with the public key',
      async () =>
        object({ header: { alg: 'HS256' }, key: new TextEncoder().encode(await exportSPKI(clientKey.publicKey)) }),
    ],
    ['another key', async () => object({ key: (await generateKeyPair('RS256')).privateKey })],
    ['another issuer', () => object({ claims: { iss: 'web' } })],
    ['another audience', () => object({ claims: { aud: 'https://elsewhere.example/' } })],
    ['an expired one', () => object({ claims: { exp: Math.floor(Date.now() / 1000) - 600 } })],
    ['a nested request', () => object({ claims: { request: 'a.b.c' } })],
    ['a nested request_uri', () => object({ claims: { request_uri: 'https://elsewhere.example/r' } })],
    ['another client', () => object({ claims: { client_id: 'web' } })],
    ['rubbish', async () => 'rubbish'],
  ])('sec-096-request-object: %s is refused', async (_what, make) => {
    const page = await send(await make());
    expect(['invalid_request_object', 'invalid_request', 400]).toContain(errorOf(page));
    expect(page.location?.searchParams.has('code') ?? false).toBe(false);
  });
});

describe('signatures with a client’s secret', () => {
  const key = (secret: string) => new TextEncoder().encode(secret);
  const sign = (client_id: string, secret: string, claims: object = {}) => {
    const now = Math.floor(Date.now() / 1000);
    return new SignJWT({ iss: client_id, aud: issuer, iat: now, exp: now + 60, ...claims })
      .setProtectedHeader({ alg: 'HS256' })
      .sign(key(secret));
  };

  test.each(['web-secret', hashSecret('web-secret')])(
    'sec-096-shared-key: a request object signed with %s is refused, since only the secret’s hash is stored',
    async (secret) => {
      const value = await sign('web', secret, { ...request, client_id: 'web' });
      const page = await alice.authorize({ client_id: 'web', request: value, redirect_uri: callback });
      expect(errorOf(page)).toBe('invalid_request_object');
    },
  );

  test.each(['machine-secret', hashSecret('machine-secret')])(
    'sec-051-shared-key: an assertion signed with %s authenticates nobody',
    async (secret) => {
      const client_assertion = await sign('machine', secret, { sub: 'machine', jti: secret });
      const answer = await gate.post('oauth/token', {
        grant_type: 'client_credentials',
        audience: 'urn:es',
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion,
      });
      expect(answer).toMatchObject({ status: 401, json: { error: 'invalid_client' } });
    },
  );

  test('discovery lists no algorithm for them', async () => {
    const { json } = await gate.get('.well-known/openid-configuration');
    const offered = Object.entries(json).filter(([name]) => name.endsWith('alg_values_supported'));
    expect(offered.length).toBeGreaterThan(3);
    expect(JSON.stringify(offered)).not.toContain('HS');
    expect(json.token_endpoint_auth_methods_supported).not.toContain('client_secret_jwt');
  });
});

describe('tokens sent through the browser', () => {
  const form = {
    client_id: 'plain',
    scope: 'openid',
    nonce: 'n',
    redirect_uri: 'http://plain.example/cb',
    ...challenge,
  };
  const carried = (page: Page) => {
    const [, signed] = /[#?]response=([\w.-]+)/.exec(page.location?.href ?? '') ?? [];
    return signed ? JSON.stringify(decodeJwt(signed)) : `${page.location?.href ?? ''} ${page.html}`;
  };
  const tokens = /(access|id)_token["=]/;

  test.each([
    ['token', ''],
    ['id_token', ''],
    ['id_token token', ''],
    ['code id_token', ''],
    ['code token', 'fragment'],
    ['code id_token token', ''],
    ['id_token token', 'form_post'],
    ['id_token', 'jwt'],
    ['id_token', 'web_message'],
  ])('sec-025-clear: %s by %s never goes to an http address that is not loopback', async (response_type, mode) => {
    const params = { ...form, response_type, ...(mode && { response_mode: mode }) };
    const page = await alice.authorize(params);
    expect(carried(page)).not.toMatch(tokens);
    expect(carried(page)).toContain('invalid_request');
    const pushed = await gate.post('oauth/par', params);
    expect(pushed).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
  });

  test('sec-025-clear: a code may go to an http address, and tokens to loopback', async () => {
    const code = await alice.authorize({ ...form, response_type: 'code' });
    expect(code.location!.searchParams.has('code')).toBe(true);
    const local = await alice.authorize({
      ...form,
      response_type: 'id_token',
      redirect_uri: 'http://localhost:4599/cb',
    });
    expect(carried(local)).toMatch(tokens);
  });
});

describe('request_uri', () => {
  test.each([
    `${insideUrl}/request`,
    'https://127.0.0.1/request',
    'https://[::ffff:127.0.0.1]/request',
    'https://169.254.169.254/latest',
    'file:///etc/passwd',
    'urn:ietf:params:oauth:request_uri:made-up',
  ])('sec-097-request-uri: %s is not fetched', async (request_uri) => {
    const page = await alice.authorize({ client_id: 'web', redirect_uri: callback, request_uri });
    expect(page.location?.searchParams.has('code') ?? false).toBe(false);
    expect(errorOf(page)).not.toBe(500);
    expect(visits).toEqual([]);
  });

  const push = (form: Record<string, string> = {}) =>
    gate.post('oauth/par', { ...request, client_id: 'web', client_secret: 'web-secret', ...form });
  const use = (request_uri: unknown, more: Record<string, string> = {}, browser = alice) =>
    browser.authorize({ client_id: 'web', request_uri: String(request_uri), ...more });

  test('sec-098-par: a pushed request works once, also with prompt=none, and only for its client', async () => {
    const { json } = await push({ prompt: 'none' });
    expect(json.expires_in).toBeLessThanOrEqual(90);
    const stranger = await alice.authorize({ client_id: 'several', request_uri: String(json.request_uri) });
    expect(stranger.location?.searchParams.has('code') ?? false).toBe(false);
    expect((await use(json.request_uri)).location!.searchParams.has('code')).toBe(true);
    expect((await use(json.request_uri)).location?.searchParams.has('code') ?? false).toBe(false);
  });

  test('sec-098-par-reload: a pushed request answered with an error can be sent again in its minute, and gives one code in all', async () => {
    const { json } = await push({ prompt: 'none' });
    const errorFor = async (browser: Browser) =>
      (await use(json.request_uri, {}, browser)).location?.searchParams.get('error');
    const nobody = new Browser(gate);
    expect([await errorFor(nobody), await errorFor(nobody)]).toEqual(['login_required', 'login_required']);
    expect((await use(json.request_uri)).location!.searchParams.has('code')).toBe(true);
    expect((await use(json.request_uri)).location?.searchParams.has('code') ?? false).toBe(false);
  });

  test('sec-098-par-race: of eight parallel uses at most one gets a code, and all others hear that the request_uri was used', async () => {
    const { json } = await push();
    const pages = await Promise.all(Array.from({ length: 8 }, () => use(json.request_uri)));
    const others = pages.filter((page) => !page.location?.searchParams.has('code'));
    expect(others.length).toBeGreaterThanOrEqual(7);
    // A page, once it is not known any more where to go.
    for (const page of others) expect(['invalid_request_uri', 400]).toContain(errorOf(page));
  });

  test('sec-098-par-refusals: a missing client authentication, a nested request_uri and a foreign redirect URI are refused', async () => {
    expect((await push({ client_secret: 'wrong' })).status).toBe(401);
    expect((await push({ request_uri: 'urn:ietf:params:oauth:request_uri:x' })).status).toBe(400);
    expect((await push({ redirect_uri: 'https://evil.example/cb' })).status).toBe(400);
  });
});

describe('registration', () => {
  let initial = '';
  const register = (body: object, token = initial) =>
    fetch(`${issuer}oidc/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify(body),
    });
  const redirect_uris = ['https://new.example/cb'];

  beforeAll(async () => {
    const manage = await openManager(gate);
    initial = (await manage('POST', 'registration-tokens', { ttl_sec: 300 })).json.token;
  });

  test('sec-100-initial-token: needs an initial access token', async () => {
    for (const token of ['', 'made up'])
      expect([400, 401]).toContain((await register({ redirect_uris }, token)).status);
    expect((await register({ redirect_uris })).status).toBe(201);
  });

  test.each<object>([
    { is_first_party: true },
    { grant_types: ['password'] },
    { grant_types: ['client_credentials'], redirect_uris: [], response_types: [] },
    { secret_hashes: ['x'] },
    { client_grants: [{ audience: 'urn:es', scope: ['read:x'] }] },
    { refresh_token: { leeway: 1e9 } },
    { web_origins: ['https://evil.example'] },
    { resource_server_identifier: 'https://api.example.com/' },
  ])('sec-100-privileges: %j is refused or ignored', async (privilege) => {
    const response = await register({ redirect_uris, ...privilege });
    const body = (await response.json()) as Record<string, unknown>;
    if (response.status === 201)
      for (const name of Object.keys(privilege)) expect(body).not.toHaveProperty(name, (privilege as never)[name]);
    else expect([response.status, body.error]).toEqual([400, expect.stringMatching(/^invalid_/)]);
  });

  test.each<object>([
    { request_object_signing_alg: 'HS256' },
    { id_token_signed_response_alg: 'HS256' },
    { authorization_signed_response_alg: 'HS256' },
    { token_endpoint_auth_method: 'client_secret_jwt' },
    { token_endpoint_auth_method: 'private_key_jwt', token_endpoint_auth_signing_alg: 'HS256' },
  ])('sec-100-shared-key: %j is refused', async (metadata) => {
    const response = await register({ redirect_uris, jwks: { keys: [clientKey.publicJwk] }, ...metadata });
    expect([response.status, await response.json()]).toEqual([
      400,
      expect.objectContaining({ error: 'invalid_client_metadata' }),
    ]);
  });

  test('sec-025-clear: implicit tokens are never registered for an http address that is not loopback', async () => {
    const implicit = { grant_types: ['implicit'], response_types: ['id_token'], token_endpoint_auth_method: 'none' };
    const clear = { ...implicit, redirect_uris: ['http://new.example/cb'] };
    for (const application_type of ['web', 'native'])
      expect((await register({ ...clear, application_type })).status).toBe(400);
    expect((await register({ ...implicit, redirect_uris: ['http://localhost:3000/cb'] })).status).toBe(201);
    expect((await register({ redirect_uris: ['http://new.example/cb'] })).status).toBe(201);
  });

  test('sec-099-fetches: a registration causes no fetch from our own network', async () => {
    const uris = {
      jwks_uri: `${insideUrl}/jwks`,
      sector_identifier_uri: `${insideUrl}/sector`,
      logo_uri: `${insideUrl}/logo`,
    };
    for (const [name, value] of Object.entries(uris)) {
      const response = await register({
        redirect_uris,
        [name]: value,
        ...(name === 'jwks_uri' ? { token_endpoint_auth_method: 'private_key_jwt' } : {}),
      });
      if (response.status !== 201) continue;
      const { client_id } = (await response.json()) as { client_id: string };
      const now = Math.floor(Date.now() / 1000);
      const client_assertion = await new SignJWT({
        iss: client_id,
        sub: client_id,
        aud: issuer,
        jti: `x${name}`,
        iat: now,
        exp: now + 60,
      })
        .setProtectedHeader({ alg: 'RS256', kid: 'k1' })
        .sign(clientKey.privateKey);
      const answer = await gate.post('oauth/token', {
        grant_type: 'refresh_token',
        refresh_token: 'x',
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion,
      });
      expect(answer.status).toBeLessThan(500);
      const browser = new Browser(gate);
      const consent = await browser.logIn(
        await browser.authorize({ ...request, client_id, redirect_uri: redirect_uris[0]! }),
      );
      expect(consent.html).not.toContain(`src="${insideUrl}`);
      await browser.submit(consent, { action: 'default' });
      await browser.get('v2/logout');
    }
    expect(visits).toEqual([]);
  });
});
