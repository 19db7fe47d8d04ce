/** Checks of the suite's plan `oidcc-config-certification-test-plan`: what the configuration promises is there. */
import { afterAll, expect, test } from '@jest/globals';
import { openGate } from '../gate.ts';
import { seed } from '../seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const gate = stack.use(await openGate(seed));
const { json: metadata, headers } = await gate.get('.well-known/openid-configuration');

test('oidcc-discovery-issuer: the metadata is JSON with the requested issuer', () => {
  expect(headers.get('content-type')).toMatch(/^application\/json/);
  expect(metadata.issuer).toBe(gate.issuer);
});

test('the metadata has everything that OpenID Connect Discovery 1.0 demands, with the values that it demands', () => {
  expect(metadata).toMatchObject({
    authorization_endpoint: expect.any(String),
    token_endpoint: expect.any(String),
    userinfo_endpoint: expect.any(String),
    jwks_uri: expect.any(String),
    scopes_supported: expect.arrayContaining(['openid', 'profile', 'email', 'phone', 'offline_access']),
    response_types_supported: expect.arrayContaining(['code', 'id_token', 'id_token token']),
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: expect.arrayContaining(['RS256']),
    claims_supported: expect.arrayContaining(['sub', 'iss', 'auth_time', 'acr']),
    claims_parameter_supported: true,
    request_parameter_supported: true,
    authorization_response_iss_parameter_supported: true,
  });
  expect(metadata.id_token_signing_alg_values_supported).not.toContain('none');
});

test('every endpoint in the metadata lies below the issuer, and none of them answers 404', async () => {
  const endpoints = Object.entries(metadata).filter(([name]) => /_(endpoint|uri|iframe)$/.test(name)) as [
    string,
    string,
  ][];
  expect(endpoints.length).toBeGreaterThan(8);
  for (const [name, url] of endpoints) {
    expect([name, url.startsWith(gate.issuer)]).toEqual([name, true]);
    const [asked, posted] = [await gate.get(url), await gate.post(url, {})];
    expect([name, asked.status !== 404 || posted.status !== 404]).toEqual([name, true]);
  }
});

test('each key in the JWKS has an algorithm and a unique key id, and no private part', async () => {
  const { keys } = (await gate.get('.well-known/jwks.json')).json as { keys: Record<string, string>[] };
  for (const key of keys) {
    expect(Object.keys(key).filter((name) => ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k'].includes(name))).toEqual([]);
    expect(key).toMatchObject({ kid: expect.any(String), alg: expect.any(String), use: 'sig' });
  }
  expect(new Set(keys.map(({ kid }) => kid)).size).toBe(keys.length);
});

test('the metadata of RFC 8414 is the same', async () => {
  expect((await gate.get('.well-known/oauth-authorization-server')).json).toEqual(metadata);
});
