/** What the webhook API refuses to start with in production, and what it tells browsers under https. */
import { readEnv } from '@gatepost/runtime/env';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { variables } from '../../src/config.ts';
import { type Api, call, openApi } from '../support/api.ts';

let secure: Api;
let alice: string;
beforeAll(async () => {
  secure = await openApi({ WEBHOOK_API_URL: 'https://api.example/' });
  alice = await secure.tokens.user('auth0|alice', 'repo');
});
afterAll(async () => await secure?.[Symbol.asyncDispose]());

test('under https every answer, of the API, its documents and its errors, tells browsers to use only https', async () => {
  for (const [token, method, path] of [
    [alice, 'GET', '/repos/acme/widgets/hooks'],
    [alice, 'POST', '/repos/acme/widgets/hooks'],
    [undefined, 'GET', '/repos/acme/widgets/hooks'],
    [undefined, 'OPTIONS', '/repos/acme/widgets/hooks'],
    [undefined, 'GET', '/docs'],
    [undefined, 'GET', '/nowhere'],
  ] as const) {
    const { headers } = await call(secure, token, method, path);
    expect([path, headers.get('strict-transport-security')]).toEqual([path, 'max-age=31536000; includeSubDomains']);
  }
});

test('production refuses the demo’s seed', async () => {
  const demo = new URL('../../../../infra/demo/seed.yaml', import.meta.url).pathname;
  await expect(openApi({ NODE_ENV: 'production', SEED_FILE: demo })).rejects.toMatchObject({
    name: 'Misconfigured',
    problems: expect.arrayContaining([expect.stringContaining('clients[0].client_secret')]),
  });
});

test('production refuses an http issuer that is not loopback, and default passwords where others reach it', () => {
  const env = {
    ...secure.env,
    NODE_ENV: 'production',
    HOST: '0.0.0.0',
    ISSUER: 'http://gate.example/',
    AMQP_URL: 'amqp://guest:guest@127.0.0.1',
    DATABASE_URL: 'postgres://gate:Wk2xPq9@127.0.0.1/gatepost',
  };
  expect(() => readEnv(variables, env)).toThrow(
    expect.objectContaining({ problems: [expect.stringMatching(/^ISSUER: /), expect.stringMatching(/^AMQP_URL: /)] }),
  );
});

test.each([
  ['loopback, uniquelocal', true],
  ['10.0.0.1,10.0.0.0/8,::1', true],
  ['true', false],
  ['loopback, nobody', false],
  ['1', false],
])('TRUSTED_PROXIES=%s is valid: %s', (value, expected) => {
  const read = () => readEnv(variables, { ...secure.env, TRUSTED_PROXIES: value });
  if (expected) expect(read).not.toThrow();
  else expect(read).toThrow('TRUSTED_PROXIES');
});

test('the former variable TRUST_PROXY is refused, not ignored', () => {
  expect(() => readEnv(variables, { ...secure.env, TRUST_PROXY: '10.0.0.0/8' })).toThrow(
    expect.objectContaining({ problems: [expect.stringMatching(/^TRUST_PROXY: is called TRUSTED_PROXIES now/)] }),
  );
});
