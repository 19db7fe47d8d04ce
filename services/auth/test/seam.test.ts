/// <reference path="../src/library/internals.d.ts" />
/** The parts of oidc-provider that src/library/ reaches for: an upgrade that moves one fails here, by name. */
import { expect, jest, test } from '@jest/globals';
import Provider from 'oidc-provider';
import * as kit from 'oidc-provider/lib/helpers/grants.js';
import LRU from 'oidc-provider/lib/helpers/lru.js';
import instance from 'oidc-provider/lib/helpers/weak_cache.js';
import { json as readBody } from 'oidc-provider/lib/shared/selective_body.js';
import packageJson from 'oidc-provider/package.json' with { type: 'json' };

const provider = new Provider('http://localhost/', {
  features: { clientCredentials: { enabled: true }, deviceFlow: { enabled: true } },
});
const state = instance(provider);

test('the version is the one that was read', () => {
  expect(packageJson.version).toBe('9.13.3');
});

test('the state behind a provider has what we change', () => {
  expect(state.configuration.responseTypes).toBeInstanceOf(Array);
  expect(state.configuration.grantTypes).toBeInstanceOf(Set);
  expect([...state.responseModes.keys()]).toEqual(expect.arrayContaining(['query', 'fragment', 'form_post']));
  for (const grantType of [
    'authorization_code',
    'refresh_token',
    'client_credentials',
    'urn:ietf:params:oauth:grant-type:device_code',
  ]) {
    expect(state.grantTypeHandlers.get(grantType)).toBeInstanceOf(Function);
    expect(state.grantTypeParams.get(grantType)).toBeInstanceOf(Set);
  }
  expect(state.keystore.clear).toBeInstanceOf(Function);
  expect(state.keystore.add).toBeInstanceOf(Function);
  expect(state.jwks.keys).toBeInstanceOf(Array);
  expect(state.dynamicClients).toBeInstanceOf(LRU);
});

test('the prototypes have the methods that we replace', () => {
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
  expect(schema.prototype.invalidate).toBeInstanceOf(Function);
  for (const model of [provider.AccessToken, provider.ClientCredentials, provider.RefreshToken])
    expect(model.find).toBeInstanceOf(Function);
  const session = provider.Session as unknown as { IN_PAYLOAD: string[]; prototype: Record<string, unknown> };
  expect(session.IN_PAYLOAD).toEqual(expect.arrayContaining(['accountId', 'loginTs']));
  expect(session.prototype.loginAccount).toBeInstanceOf(Function);
});

test('a parsed body is warned of once, at once', async () => {
  const warn = jest.spyOn(console, 'warn').mockImplementation(() => {});
  const parsed = { is: () => true, req: { readable: false, body: { a: 'b' } }, request: {}, oidc: {} };
  const reading = readBody(parsed, async () => {});
  expect(warn).toHaveBeenCalledTimes(1);
  await reading;
  await readBody(parsed, async () => {});
  expect(warn).toHaveBeenCalledTimes(1);
  expect(parsed.oidc).toEqual({ body: { a: 'b' } });
  warn.mockRestore();
});

test('the kit for grants has what ours use', () => {
  const used = ['validateDpop', 'checkDpopRequired', 'checkDpopReplay', 'resolveRequestedResources', 'findAccount'];
  expect(Object.keys(kit)).toEqual(
    expect.arrayContaining([...used, 'applyRefreshTokenBindings', 'buildTokenResponse']),
  );
});
