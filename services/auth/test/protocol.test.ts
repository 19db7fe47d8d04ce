/** Pushed and signed requests, DPoP, registration, CORS: what hardens the plain flows. */

import { Browser } from '@gatepost/testkit/browser';
import { pkce } from '@gatepost/testkit/pkce';
import { afterAll, describe, expect, test } from '@jest/globals';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import * as client from 'openid-client';
import { freePort, openGate } from './gate.ts';
import { api, fullSeed, third, web } from './seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(async () => {
  await stack.disposeAsync();
});
const keys = await generateKeyPair('ES256');
const jwk = { ...(await exportJWK(keys.publicKey)), alg: 'ES256', use: 'sig', kid: 'k' };
const signed = {
  ...web,
  client_id: 'signed',
  client_secret: undefined,
  token_endpoint_auth_method: 'private_key_jwt',
  jwks: { keys: [jwk] },
};
const registrar = {
  client_id: 'registrar',
  client_secret: 'registrar-secret',
  grant_types: ['client_credentials'],
  client_grants: [] as { audience: string; scope: string[] }[],
};
const port = await freePort();
registrar.client_grants.push({ audience: `http://localhost:${port}/api/v2/`, scope: ['create:registration_tokens'] });
const gate = stack.use(
  await openGate(
    { ...fullSeed, clients: [...fullSeed.clients, signed, registrar] },
    { ISSUER: `http://localhost:${port}/`, AUTH_PORT: String(port) },
  ),
);
const redirect_uri = 'https://app.example/cb';
const discover = (id: string, secret?: string) =>
  client.discovery(new URL(gate.issuer), id, secret, secret ? undefined : client.None(), {
    execute: [client.allowInsecureRequests],
  });

describe('pushed authorization requests', () => {
  test('sec-098-par: work once, for their own client, and ignore parameters beside them', async () => {
    const push = await gate.post('oauth/par', {
      client_id: 'web',
      client_secret: 'web-secret',
      response_type: 'code',
      redirect_uri,
      scope: 'openid',
      state: 'pushed',
    });
    expect(push).toMatchObject({ status: 201, json: { request_uri: expect.stringMatching(/^urn:/), expires_in: 60 } });
    const request_uri = push.json.request_uri as string;
    const stranger = await new Browser(gate).authorize({ client_id: 'spa', request_uri });
    expect(stranger.location).toBeUndefined();
    const browser = new Browser(gate);
    const done = await browser.logIn(await browser.authorize({ client_id: 'web', request_uri, state: 'outside' }));
    expect(done.location!.searchParams.get('state')).toBe('pushed');
    const again = await browser.authorize({ client_id: 'web', request_uri });
    expect(again.location?.searchParams.get('code') ?? null).toBeNull();
  });

  test('need client authentication', async () => {
    const push = await gate.post('oauth/par', {
      client_id: 'web',
      response_type: 'code',
      redirect_uri,
      scope: 'openid',
    });
    expect(push.status).toBe(401);
  });
});

describe('request objects', () => {
  const object = (claims: object, alg = 'ES256', key: Parameters<SignJWT['sign']>[0] = keys.privateKey) =>
    new SignJWT({
      client_id: 'signed',
      response_type: 'code',
      redirect_uri,
      scope: 'openid',
      state: 'inside',
      ...claims,
    })
      .setProtectedHeader({ alg, kid: 'k' })
      .setIssuer('signed')
      .setAudience(gate.issuer)
      .setIssuedAt()
      .setExpirationTime('1m')
      .sign(key);

  test('that are signed are accepted, with ext- parameters', async () => {
    const browser = new Browser(gate);
    const request = await object({ 'ext-a': 'inside' });
    const done = await browser.logIn(await browser.authorize({ client_id: 'signed', request, 'ext-b': 'outside' }));
    expect(done.location!.searchParams.get('state')).toBe('inside');
  });

  test('sec-096-request-object: unsigned, foreign and confused ones are refused', async () => {
    const none = `${btoa('{"alg":"none"}').replaceAll('=', '')}.${btoa(JSON.stringify({ client_id: 'signed', redirect_uri, response_type: 'code', scope: 'openid' })).replaceAll('=', '')}.`;
    const other = await generateKeyPair('ES256');
    const confused = new TextEncoder().encode(JSON.stringify(jwk));
    for (const request of [none, await object({}, 'ES256', other.privateKey), await object({}, 'HS256', confused)]) {
      const page = await new Browser(gate).authorize({ client_id: 'signed', request, redirect_uri });
      expect(page.location?.searchParams.get('error') ?? 'invalid_request_object').toBe('invalid_request_object');
      expect(page.html).not.toContain('name="identifier"');
    }
  });
});

describe('DPoP', () => {
  test('sec-093-dpop: tokens bound to a key work only with it, at the token endpoint and at userinfo', async () => {
    const config = await discover('spa');
    const handle = client.getDPoPHandle(config, await client.randomDPoPKeyPair('ES256'));
    const browser = new Browser(gate);
    const proof = pkce();
    const page = await browser.logIn(
      await browser.authorize({
        client_id: 'spa',
        redirect_uri,
        response_type: 'code',
        scope: 'openid offline_access',
        code_challenge: proof.code_challenge,
        code_challenge_method: 'S256',
        audience: api,
      }),
    );
    const tokens = await client.authorizationCodeGrant(
      config,
      page.location!,
      { pkceCodeVerifier: proof.code_verifier },
      undefined,
      { DPoP: handle },
    );
    expect(tokens.token_type).toBe('dpop');
    const info = await client.fetchUserInfo(config, tokens.access_token, 'auth0|alice', { DPoP: handle });
    expect(info.sub).toBe('auth0|alice');
    expect((await gate.get('userinfo', { authorization: `Bearer ${tokens.access_token}` })).status).toBe(401);
    const thief = client.getDPoPHandle(config, await client.randomDPoPKeyPair('ES256'));
    await expect(
      client.refreshTokenGrant(config, tokens.refresh_token!, undefined, { DPoP: thief }),
    ).rejects.toMatchObject({ error: 'invalid_grant' });
    await expect(
      client.refreshTokenGrant(config, tokens.refresh_token!, undefined, { DPoP: handle }),
    ).resolves.toMatchObject({ token_type: 'dpop' });
  });
});

describe('dynamic registration', () => {
  const register = (body: object, token: string) =>
    fetch(`${gate.issuer}oidc/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify(body),
    });

  test('sec-100-registration: needs an initial access token and gives no privileges', async () => {
    const metadata = { redirect_uris: ['https://new.example/cb'], client_name: 'New' };
    expect((await register(metadata, 'made-up')).status).toBe(401);
    const management = { grant_type: 'client_credentials', audience: `${gate.issuer}api/v2/` };
    const admin = await gate.post('oauth/token', {
      ...management,
      client_id: 'registrar',
      client_secret: 'registrar-secret',
    });
    const made = await fetch(`${gate.issuer}api/v2/registration-tokens`, {
      method: 'POST',
      headers: { authorization: `Bearer ${admin.json.access_token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ttl_sec: 60 }),
    });
    const { token } = (await made.json()) as { token: string };
    for (const privilege of [{ is_first_party: true }, { grant_types: ['password'] }, { secret_hashes: ['x'] }])
      expect((await register({ ...metadata, ...privilege }, token)).status).toBe(400);
    const response = await register(metadata, token);
    expect(response.status).toBe(201);
    const registered = (await response.json()) as { client_id: string; client_secret: string };
    const browser = new Browser(gate);
    const page = await browser.logIn(
      await browser.authorize({
        client_id: registered.client_id,
        redirect_uri: 'https://new.example/cb',
        response_type: 'code',
        scope: 'openid',
      }),
    );
    expect(page.html).toContain('New'); // somebody else's application: consent is asked
    const done = await browser.submit(page, { action: 'default' });
    const tokens = await gate.post('oauth/token', {
      grant_type: 'authorization_code',
      code: done.location!.searchParams.get('code')!,
      redirect_uri: 'https://new.example/cb',
      client_id: registered.client_id,
      client_secret: registered.client_secret,
    });
    expect(tokens.status).toBe(200);
  });
});

test('discovery names the languages of the hosted pages', async () => {
  const { json } = await gate.get('.well-known/openid-configuration');
  expect(json.ui_locales_supported).toEqual(['en', 'de', 'es', 'fr', 'pt', 'ja']);
});

describe('CORS', () => {
  const tokenFrom = (origin: string) =>
    gate.post('oauth/token', { grant_type: 'refresh_token', client_id: 'spa', refresh_token: 'x' }, { origin });

  test('sec-104-cors: the token endpoint answers to the client’s own origins, without credentials', async () => {
    const own = await tokenFrom('https://app.example');
    expect(own.headers.get('access-control-allow-origin')).toBe('https://app.example');
    expect(own.headers.get('access-control-allow-credentials')).toBeNull();
    for (const origin of ['https://evil.example', 'null'])
      expect((await tokenFrom(origin)).headers.get('access-control-allow-origin')).toBeNull();
  });

  test('the origins of an application’s callbacks are its own, as at Auth0', async () => {
    const from = (origin: string) =>
      gate.post('oauth/token', { grant_type: 'refresh_token', client_id: 'third', client_secret: 'x' }, { origin });
    const { origin } = new URL(third.callbacks[0]!);
    expect((await from(origin)).headers.get('access-control-allow-origin')).toBe(origin);
    for (const other of [`${origin}.evil.example`, `${origin}:8443`, 'null'])
      expect((await from(other)).headers.get('access-control-allow-origin')).toBeNull();
  });

  test('no page is of an application whose callback has a scheme of its own', async () => {
    const { headers } = await gate.post(
      'oauth/token',
      { grant_type: 'refresh_token', client_id: 'native', refresh_token: 'x' },
      { origin: 'null' },
    );
    expect(headers.get('access-control-allow-origin')).toBeNull();
  });

  test('applies to the passwordless API too, with its preflight', async () => {
    const url = `${gate.issuer}passwordless/start`;
    const preflight = await fetch(url, {
      method: 'OPTIONS',
      headers: { origin: 'https://app.example', 'access-control-request-method': 'POST' },
    });
    expect(preflight.status).toBe(204);
    const ask = (origin: string) =>
      fetch(url, {
        method: 'POST',
        headers: { origin, 'content-type': 'application/json' },
        body: JSON.stringify({ client_id: 'spa', connection: 'email', email: 'a@b.c' }),
      });
    const own = await ask('https://app.example');
    expect(own.headers.get('access-control-allow-origin')).toBe('https://app.example');
    expect(own.headers.get('access-control-expose-headers')).toBe('Retry-After');
    expect((await ask('https://evil.example')).headers.get('access-control-allow-origin')).toBeNull();
  });
});

test('with JARM the response is one signed JWT', async () => {
  const browser = new Browser(gate);
  const { code_challenge } = pkce();
  const page = await browser.logIn(
    await browser.authorize({
      client_id: 'spa',
      redirect_uri,
      response_type: 'code',
      response_mode: 'jwt',
      scope: 'openid',
      code_challenge,
      code_challenge_method: 'S256',
    }),
  );
  expect(page.location!.searchParams.get('response')).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
});

test('native applications may use any loopback port and their own scheme', async () => {
  const { code_challenge } = pkce();
  const request = {
    client_id: 'native',
    response_type: 'code',
    scope: 'openid',
    code_challenge,
    code_challenge_method: 'S256',
  };
  for (const uri of ['http://127.0.0.1:51234/callback', 'com.example.app:/cb']) {
    const browser = new Browser(gate);
    const page = await browser.logIn(await browser.authorize({ ...request, redirect_uri: uri }));
    const done = await browser.submit(page, { action: 'default' }); // a person confirms (RFC 8252 8.6)
    expect(done.location!.href).toMatch(/[?&]code=/);
  }
  // sec-008: only the port may differ, and only on loopback.
  for (const uri of ['http://localhost:51234/callback', 'http://127.0.0.1:1/other', 'com.example.app:/cb/x'])
    expect((await new Browser(gate).authorize({ ...request, redirect_uri: uri })).status).toBe(400);
});

test('responses of the token endpoint are never cached and reveal nothing internal', async () => {
  const { headers, text } = await gate.post('oauth/token', {
    grant_type: 'authorization_code',
    client_id: 'spa',
    code: 'x',
    redirect_uri,
    code_verifier: 'y',
  });
  expect(headers.get('cache-control')).toContain('no-store');
  expect(text).not.toMatch(/at .*\.[jt]s|node_modules/);
});

describe('sec-031, sec-033: malformed requests', () => {
  const bad: [string, string][] = [
    ['a parameter twice', 'client_id=spa&client_id=spa'],
    ['a NUL', 'client_id=spa%00&redirect_uri=x'],
    ['broken UTF-8', 'client_id=%ff%fe'],
    ['broken escapes', 'client_id=%zz&scope=%'],
    ['lone surrogates', 'client_id=spa&state=%ed%a0%80'],
    ['a prototype key', '__proto__=x&constructor=y&client_id=spa'],
    ['ten thousand parameters', Array.from({ length: 10_000 }, (_, index) => `p${index}=1`).join('&')],
    ['brackets', 'client_id[a]=1&client_id[b]=2'],
  ];
  const paths = [
    'authorize',
    'oauth/token',
    'oauth/revoke',
    'oauth/introspect',
    'oauth/par',
    'oauth/device/code',
    'userinfo',
    'activate',
    'oidc/logout',
    'v2/logout',
    'passwordless/start',
    'passwordless/verify',
    'dbconnections/signup',
    'dbconnections/change_password',
    'change-password',
  ];

  test.each(paths)('at %s never get a 5xx or a redirect to elsewhere', async (path) => {
    for (const [, text] of bad) {
      const requests = [
        text.length < 8_000 ? fetch(`${gate.issuer}${path}?${text}`, { redirect: 'manual' }) : undefined,
        fetch(`${gate.issuer}${path}`, {
          method: 'POST',
          redirect: 'manual',
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          body: text,
        }),
        fetch(`${gate.issuer}${path}`, {
          method: 'POST',
          redirect: 'manual',
          headers: { 'content-type': 'application/json' },
          body: `{"a":${JSON.stringify(text.slice(0, 100))}`,
        }),
      ];
      for (const response of await Promise.all(requests)) {
        if (!response) continue;
        if (response.status >= 500)
          throw new Error(`${response.status} ${text.slice(0, 60)} ${response.url.slice(0, 80)}`);
        expect(response.status).toBeLessThan(500);
        const location = response.headers.get('location');
        if (location) expect(new URL(location, gate.issuer).origin).toBe(new URL(gate.issuer).origin);
      }
    }
  });
});
