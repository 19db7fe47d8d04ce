/// <reference path="../src/library/internals.d.ts" />
/**
 * The parts of oidc-provider that src/library/ reaches for: an upgrade that moves one fails here, by name. And what the library does
 * where src/library/ changes it: an upgrade that makes a change needless, or wrong, fails here too.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import Provider from 'oidc-provider';
import ServerChallenge from 'oidc-provider/lib/helpers/challenge.js';
import * as kit from 'oidc-provider/lib/helpers/grants.js';
import LRU from 'oidc-provider/lib/helpers/lru.js';
import revoke from 'oidc-provider/lib/helpers/revoke.js';
import instance from 'oidc-provider/lib/helpers/weak_cache.js';
import packageJson from 'oidc-provider/package.json' with { type: 'json' };

const device = 'urn:ietf:params:oauth:grant-type:device_code';
const provider = new Provider('http://localhost/', {
  clients: [
    {
      client_id: 'machine',
      client_secret: 'secret',
      token_endpoint_auth_method: 'client_secret_post',
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
    },
    {
      client_id: 'public',
      token_endpoint_auth_method: 'none',
      grant_types: ['client_credentials', device],
      redirect_uris: [],
      response_types: [],
    },
    {
      client_id: 'web',
      client_secret: 'secret',
      token_endpoint_auth_method: 'client_secret_post',
      redirect_uris: ['https://app.example/cb'],
    },
  ],
  pkce: { required: () => false },
  features: {
    clientCredentials: { enabled: true },
    deviceFlow: { enabled: true },
    dPoP: { enabled: true, nonceSecret: Buffer.alloc(32) },
    introspection: { enabled: true },
    revocation: { enabled: true },
  },
});
const state = instance(provider);

test('the installed version of the library is the one that these overrides were written for', () => {
  expect(packageJson.version).toBe('9.13.3');
});

test('the state behind a provider has the parts that we override', () => {
  expect(state.configuration.responseTypes).toBeInstanceOf(Array);
  expect(state.configuration.grantTypes).toBeInstanceOf(Set);
  expect([...state.responseModes.keys()]).toEqual(expect.arrayContaining(['query', 'fragment', 'form_post']));
  for (const grantType of ['authorization_code', 'refresh_token', 'client_credentials', device]) {
    expect(state.grantTypeHandlers.get(grantType)).toBeInstanceOf(Function);
    expect(state.grantTypeParams.get(grantType)).toBeInstanceOf(Set);
  }
  expect(state.keystore.clear).toBeInstanceOf(Function);
  expect(state.keystore.add).toBeInstanceOf(Function);
  expect(state.jwks.keys).toBeInstanceOf(Array);
  expect(state.dynamicClients).toBeInstanceOf(LRU);
  expect(state.DPoPNonces).toBeInstanceOf(ServerChallenge);
  expect(state.DPoPNonces.checkChallenge(new ServerChallenge(Buffer.alloc(32), 'DPoP').nextChallenge())).toBe(true);
  expect(state.features.registration).toHaveProperty('initialAccessToken');
});

test('the library’s prototypes have the methods that we override', () => {
  const client = provider.Client.prototype as unknown as Record<string, unknown>;
  for (const method of [
    'compareClientSecret',
    'grantTypeAllowed',
    'responseTypeAllowed',
    'responseModeAllowed',
    'includeSid',
  ])
    expect([method, typeof client[method]]).toEqual([method, 'function']);
  const schema = (provider.Client as unknown as { Schema: { prototype: Record<string, unknown> } }).Schema;
  for (const method of ['invalidate', 'scopes']) expect(schema.prototype[method]).toBeInstanceOf(Function);
  for (const model of [
    provider.AccessToken,
    provider.ClientCredentials,
    provider.RefreshToken,
    provider.AuthorizationCode,
    provider.DeviceCode,
    provider.Grant,
    provider.Client,
  ])
    expect(model.find).toBeInstanceOf(Function);
  const refreshToken = provider.RefreshToken.prototype as unknown as Record<string, unknown>;
  expect(refreshToken.generateTokenId).toBeInstanceOf(Function);
  expect((provider.IdToken as unknown as { validate: unknown }).validate).toBeInstanceOf(Function);
  expect(revoke).toHaveLength(2);
  const session = provider.Session as unknown as { IN_PAYLOAD: string[]; prototype: Record<string, unknown> };
  expect(session.IN_PAYLOAD).toEqual(expect.arrayContaining(['accountId', 'loginTs']));
  for (const method of ['loginAccount', 'destroy']) expect(session.prototype[method]).toBeInstanceOf(Function);
});

test('the library’s grant helpers have what our grants use', () => {
  const used = ['validateDpop', 'checkDpopRequired', 'checkDpopReplay', 'resolveRequestedResources', 'findAccount'];
  expect(Object.keys(kit)).toEqual(
    expect.arrayContaining([...used, 'applyRefreshTokenBindings', 'buildTokenResponse']),
  );
});

describe('the library alone, without the overrides in library/,', () => {
  const server = createServer(provider.callback());
  const ask = async (path: string, form?: Record<string, string>) => {
    const { port } = server.address() as AddressInfo;
    const init = form ? { method: 'POST', body: new URLSearchParams(form) } : {};
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { redirect: 'manual', ...init });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text };
  };
  const machine = { client_id: 'machine', client_secret: 'secret' };
  beforeAll(async () => {
    jest.spyOn(console, 'info').mockImplementation(() => {}); // it has much to say of what is not configured here
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(async () => {
    jest.restoreAllMocks();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  test('accepts a body that was read before, as http/well-formed.ts does, and logs nothing with our patch (patches/)', async () => {
    const warn = jest.spyOn(console, 'warn').mockImplementation(() => {});
    const reading = createServer(async (request, response) => {
      Object.assign(request, { body: Object.fromEntries(new URLSearchParams(await text(request))) });
      provider.callback()(request, response);
    });
    reading.listen(0, '127.0.0.1');
    await once(reading, 'listening');
    const body = new URLSearchParams({ ...machine, grant_type: 'client_credentials' });
    const { port } = reading.address() as AddressInfo;
    const { status } = await fetch(`http://127.0.0.1:${port}/token`, { method: 'POST', body });
    reading.close();
    reading.closeAllConnections();
    expect([status, warn.mock.calls]).toEqual([200, []]);
  });

  test('parses a client’s metadata for each request, and caches a hundred clients', async () => {
    const metadata = { client_id: 'app', client_secret: 'secret', redirect_uris: ['https://app.example/cb'] };
    const toJSON = jest.fn(() => ({ ...metadata }));
    const found = await find(Object.defineProperty({ ...metadata }, 'toJSON', { value: toJSON }));
    expect(found).toBeDefined();
    const again = Object.defineProperty({ ...metadata }, 'toJSON', { value: toJSON });
    expect(await find(again)).toBe(found);
    expect(await find(again)).toBe(found);
    expect(toJSON).toHaveBeenCalledTimes(3);
    const kept = state.dynamicClients as unknown as { set(key: string, value: object): void; size: number };
    for (let n = 0; n < 300; n += 1) kept.set(String(n), {});
    expect(kept.size).toBeLessThanOrEqual(100);
  });

  test('compares a client’s only secret in plain text', () => {
    const { compareClientSecret } = provider.Client.prototype as unknown as {
      compareClientSecret(this: object, actual: string): boolean;
    };
    expect(compareClientSecret.call({ clientSecret: 'secret' }, 'secret')).toBe(true);
  });

  test('answers a grant type that the client may not use with invalid_request', async () => {
    const { status, text } = await ask('/token', { ...machine, grant_type: 'authorization_code', code: 'x' });
    expect([status, JSON.parse(text).error]).toEqual([400, 'invalid_request']);
  });

  test('answers a response type that the client may not use with invalid_request', async () => {
    const asked = '/auth?client_id=web&response_type=id_token&redirect_uri=https://app.example/cb&scope=openid&nonce=n';
    const { headers } = await ask(asked);
    expect(headers.get('location')).toContain('error=invalid_request&');
  });

  test('does not support the response type `token` alone', () => {
    expect(() => new Provider('http://localhost/', { responseTypes: ['token' as never] })).toThrow(/token/);
  });

  test('refuses implicit clients on localhost and over http', async () => {
    const implicit = {
      client_id: 'i',
      token_endpoint_auth_method: 'none',
      response_types: ['id_token'],
      grant_types: ['implicit'],
    };
    await expect(find({ ...implicit, redirect_uris: ['http://app.example/cb'] })).rejects.toThrow(
      'invalid_redirect_uri',
    );
    await expect(find({ ...implicit, redirect_uris: ['https://localhost/cb'] })).rejects.toThrow(
      'invalid_redirect_uri',
    );
  });

  test('refuses clients with scopes that are not OpenID’s', async () => {
    const metadata = { client_id: 's', client_secret: 'secret', redirect_uris: ['https://app.example/cb'] };
    await expect(find({ ...metadata, scope: 'openid mcp:tools' })).rejects.toThrow('invalid_client_metadata');
  });

  test('puts no `sid` into the ID tokens of a client without back-channel logout', async () => {
    const client = (await provider.Client.find('web')) as unknown as { includeSid(): unknown };
    expect(client.includeSid()).toBeFalsy();
  });

  test('keeps its own response mode when another of the same name is registered', () => {
    const own = state.responseModes.get('query');
    provider.registerResponseMode('query', () => {});
    expect(state.responseModes.get('query')).toBe(own);
  });

  test('stores only known fields of a session, a grant and an interaction', () => {
    const session = provider.Session as unknown as {
      IN_PAYLOAD: string[];
      prototype: { loginAccount(details: object): void };
    };
    expect(session.IN_PAYLOAD).not.toContain('incarnation');
    expect((provider.Grant as unknown as { IN_PAYLOAD: string[] }).IN_PAYLOAD).not.toContain('sources');
    const loggedIn = {};
    session.prototype.loginAccount.call(loggedIn, { accountId: 'a', incarnation: 'i' });
    expect(loggedIn).toHaveProperty('accountId', 'a');
    expect(loggedIn).not.toHaveProperty('incarnation');
  });

  test('ignores JWTs at introspection and revocation', async () => {
    const token = `${Buffer.from('{"alg":"RS256"}').toString('base64url')}.e30.c2ln`;
    for (const path of ['/token/introspection', '/token/revocation']) {
      const { status, text } = await ask(path, { ...machine, token });
      expect([path, status, JSON.parse(text).error]).toEqual([path, 400, 'unsupported_token_type']);
    }
  });

  test('does not spend a code that was tried with a wrong redirect URI', async () => {
    const client = (await provider.Client.find('web'))!;
    const grantId = await new provider.Grant({ clientId: 'web', accountId: 'a' }).save();
    const redirectUri = 'https://app.example/cb';
    const made = { client, accountId: 'a', grantId, redirectUri, scope: 'openid', gty: 'authorization_code' };
    const code = await new provider.AuthorizationCode(made).save();
    const form = { client_id: 'web', client_secret: 'secret', grant_type: 'authorization_code', code };
    const { text } = await ask('/token', { ...form, redirect_uri: 'https://other.example/cb' });
    expect(JSON.parse(text).error).toBe('invalid_grant');
    expect((await ask('/token', { ...form, redirect_uri: redirectUri })).status).toBe(200);
  });

  test('gives machine tokens to clients without a secret', async () => {
    const { status } = await ask('/token', { client_id: 'public', grant_type: 'client_credentials' });
    expect(status).toBe(200);
  });

  test('sends devices no interval, and lets them poll without limit', async () => {
    const { text } = await ask('/device/auth', { client_id: 'public', scope: 'openid' });
    const { device_code, interval } = JSON.parse(text);
    expect(interval).toBeUndefined();
    const poll = { client_id: 'public', grant_type: device, device_code };
    for (const answer of [await ask('/token', poll), await ask('/token', poll)])
      expect(JSON.parse(answer.text).error).toBe('authorization_pending');
  });

  test('sends a logout form of its own, which any page may frame', async () => {
    const { status, headers, text } = await ask('/session/end');
    expect(status).toBe(200);
    expect(text).toContain('<form');
    expect(headers.get('content-security-policy')).toBeNull();
  });

  test('answers a GET with 303', async () => {
    const { status, headers } = await ask(
      '/auth?client_id=web&response_type=code&redirect_uri=https://app.example/cb&scope=openid&prompt=none',
    );
    expect(status).toBe(303);
    expect(headers.get('location')).toContain('error=login_required');
  });

  test('does not support web_message', async () => {
    const { text } = await ask('/.well-known/openid-configuration');
    expect(JSON.parse(text).response_modes_supported).not.toContain('web_message');
  });
});

/** The client that the library makes of the metadata. */
function find(metadata: object): Promise<object | undefined> {
  const model = provider.Client as unknown as {
    find(this: { adapter: object }, id: string): Promise<object | undefined>;
  };
  return model.find.call({ adapter: { find: async () => metadata } }, 'not among the configured');
}
