/** Token exchange (RFC 8693): what it gives is worth no more, and lives no longer, than what it was made from. */

import { Browser } from '@gatepost/testkit/browser';
import { pkce } from '@gatepost/testkit/pkce';
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { openGate, type TestGate } from '../gate.ts';
import { api, apiClient, machine, seed, spa, third } from '../seeds.ts';

const grant_type = 'urn:ietf:params:oauth:grant-type:token-exchange';
const type = 'urn:ietf:params:oauth:token-type:access_token';
const es = {
  ...apiClient,
  client_id: 'es',
  client_secret: 'es-secret',
  resource_server_identifier: 'urn:es',
  client_grants: [{ audience: api, scope: ['read:x', 'write:x', 'admin:x'] }],
};
const own = {
  ...third,
  client_id: 'own',
  client_secret: 'own-secret',
  grant_types: [...third.grant_types, grant_type],
};
const clients = [
  ...seed.clients,
  apiClient,
  es,
  { ...own, client_grants: [{ audience: 'urn:es', scope: ['read:x'] }] },
  { ...machine, client_id: 'stranger', client_secret: 'stranger-secret', is_first_party: false },
  { ...spa, client_id: 'doomed' },
];

const stack = new AsyncDisposableStack();
let gate: TestGate;
beforeAll(async () => {
  gate = stack.use(await openGate({ ...seed, clients }));
});
afterAll(() => stack.disposeAsync());

type Tokens = { access_token: string; refresh_token: string };
type Form = Record<string, string>;

/** Somebody's tokens for a client. */
async function login(client_id: string, params: Form = {}, secret: Form = {}): Promise<Tokens> {
  const browser = new Browser(gate);
  const redirect_uri = 'https://app.example/cb';
  const { code_verifier, ...challenge } = pkce();
  const request = {
    client_id,
    redirect_uri,
    response_type: 'code',
    scope: 'openid read:x offline_access',
    ...challenge,
  };
  let page = await browser.logIn(await browser.authorize({ ...request, ...params }));
  if (!page.location) page = await browser.submit(page, { action: 'default' });
  const code = page.location!.searchParams.get('code')!;
  const form = { grant_type: 'authorization_code', client_id, code, redirect_uri, code_verifier };
  const { json } = await gate.post('oauth/token', { ...form, ...secret });
  return json as unknown as Tokens;
}
const exchange = (client_id: string, subject_token: string, more: Form = {}) =>
  gate.post('oauth/token', {
    grant_type,
    client_id,
    client_secret: `${client_id}-secret`,
    subject_token,
    subject_token_type: type,
    ...more,
  });
async function exchanged(client_id: string, subject_token: string, more: Form = {}): Promise<string> {
  const answer = await exchange(client_id, subject_token, more);
  if (answer.status !== 200) throw new Error(answer.text);
  return answer.json.access_token as string;
}
async function actor(client_id: string): Promise<{ actor_token: string; actor_token_type: string }> {
  const form = { grant_type: 'client_credentials', client_id, client_secret: `${client_id}-secret`, audience: api };
  const { json } = await gate.post('oauth/token', form);
  return { actor_token: json.access_token as string, actor_token_type: type };
}
/** Whether a token of that client is alive, as introspection and userinfo say, which must agree. */
async function isAlive(client_id: string, token: string): Promise<boolean> {
  const { json } = await gate.post('oauth/introspect', { client_id, client_secret: `${client_id}-secret`, token });
  const { status } = await gate.get('userinfo', { authorization: `Bearer ${token}` });
  expect([json.active, status]).toEqual(json.active ? [true, 200] : [false, 401]);
  return json.active === true;
}
const revoke = (client_id: string, token: string, secret = {}) =>
  gate.post('oauth/revoke', { token, client_id, ...secret });

describe('an exchanged token is worth no more than its subject token:', () => {
  const ownSecret = { client_secret: 'own-secret' };
  const firstParty = (token: string) => decodeJwt(token).first_party;

  test('it is first-party only if the subject token was', async () => {
    const { access_token } = await login('own', { audience: api }, ownSecret);
    expect(firstParty(access_token)).toBe(false);
    const once = await exchanged('api', access_token, { audience: 'urn:es' });
    const twice = await exchanged('es', once, { audience: api });
    expect([firstParty(once), firstParty(twice)]).toEqual([false, false]);
    const person = await login('spa', { audience: api });
    expect(firstParty(await exchanged('api', person.access_token, { audience: 'urn:es' }))).toBe(true);
  });

  test('it is not first-party if the actor is third-party', async () => {
    const { access_token } = await login('spa', { audience: api });
    const token = await exchanged('api', access_token, { audience: api, ...(await actor('stranger')) });
    expect(firstParty(token)).toBe(false);
    const mere = await exchanged('api', access_token, { audience: api, ...(await actor('machine')) });
    expect(firstParty(mere)).toBe(true);
  });

  test('an opaque one remembers all this too', async () => {
    const { access_token } = await login('own', { scope: 'openid' }, ownSecret);
    const opaque = await exchanged('own', access_token);
    const { json } = await gate.post('oauth/introspect', { client_id: 'own', ...ownSecret, token: opaque });
    expect(json).toMatchObject({ active: true, first_party: false });
  });

  test('its scopes are among the subject token’s, for another API too', async () => {
    const { access_token } = await login('spa', { audience: api, scope: 'openid write:x' });
    const narrowed = await exchange('api', access_token, { audience: 'urn:es' });
    expect(narrowed.json.scope).toBe('openid');
    expect(await exchange('api', access_token, { audience: 'urn:es', scope: 'read:x' })).toMatchObject({
      status: 400,
      json: { error: 'invalid_scope' },
    });
    // A machine's own grant does not become what it may do for somebody who was never asked.
    const { access_token: consented } = await login('own', { scope: 'openid' }, ownSecret);
    const widened = await exchange('own', consented, { audience: 'urn:es', scope: 'read:x' });
    expect(widened.json.error).toBe('invalid_scope');
  });

  test('it expires with the first of its source tokens', async () => {
    const { access_token } = await login('spa', { audience: api });
    const by = await actor('machine');
    const ends = [access_token, by.actor_token].map((token) => decodeJwt(token).exp!);
    const token = await exchanged('api', access_token, { audience: 'urn:es', ...by });
    expect(decodeJwt(token).exp).toBe(Math.min(...ends));
  });
});

describe('an exchanged token is revoked along a whole chain', () => {
  test.each<[string, (subject: Tokens) => Promise<unknown>]>([
    ['its subject token is revoked', ({ access_token }) => revoke('spa', access_token)],
    ['the grant of its subject token is revoked', ({ refresh_token }) => revoke('spa', refresh_token)],
  ])('when %s', async (_, end) => {
    const subject = await login('spa', { audience: api });
    const once = await exchanged('api', subject.access_token, { audience: 'urn:es' });
    const twice = await exchanged('es', once, { audience: api });
    const last = await exchanged('api', twice, { audience: 'urn:es' });
    expect([await isAlive('api', once), await isAlive('es', twice), await isAlive('api', last)]).toEqual([
      true,
      true,
      true,
    ]);
    await end(subject);
    expect([await isAlive('api', once), await isAlive('es', twice), await isAlive('api', last)]).toEqual([
      false,
      false,
      false,
    ]);
    expect((await exchange('es', last, { audience: api })).json.error).toBe('invalid_grant');
  });

  test('when a token in the middle is revoked, which affects the later tokens but not the earlier ones', async () => {
    const { access_token } = await login('spa', { audience: api });
    const once = await exchanged('api', access_token, { audience: 'urn:es' });
    const twice = await exchanged('es', once, { audience: api });
    await revoke('api', once, { client_secret: 'api-secret' });
    expect([await isAlive('api', access_token), await isAlive('es', twice)]).toEqual([true, false]);
  });

  test('when the actor token is revoked', async () => {
    const { access_token } = await login('spa', { audience: api });
    const by = await actor('machine');
    const token = await exchanged('api', access_token, { audience: 'urn:es', ...by });
    const twice = await exchanged('es', token, { audience: api });
    expect(await isAlive('es', twice)).toBe(true);
    await revoke('machine', by.actor_token, { client_secret: 'machine-secret' });
    expect([await isAlive('api', token), await isAlive('es', twice)]).toEqual([false, false]);
  });

  test('when an opaque subject token is revoked', async () => {
    const secret = { client_secret: 'own-secret' };
    const { access_token } = await login('own', { scope: 'openid' }, secret);
    const token = await exchanged('own', access_token);
    expect(await isAlive('own', token)).toBe(true);
    await revoke('own', access_token, secret);
    expect(await isAlive('own', token)).toBe(false);
  });

  test('when the client of the subject token is deleted', async () => {
    const { access_token } = await login('doomed', { audience: api });
    const token = await exchanged('api', access_token, { audience: 'urn:es' });
    await gate.pool.query("DELETE FROM auth.clients WHERE client_id = 'doomed'");
    // The gate hears of it in its own time.
    const asApi = { client_id: 'api', client_secret: 'api-secret', token };
    await until('it is dead', async () => (await gate.post('oauth/introspect', asApi)).json.active === false);
    expect(await isAlive('api', token)).toBe(false);
  });
});

test('a chain of token exchanges is at most twenty long', async () => {
  let { access_token: token } = await login('spa', { audience: api });
  let [answers, last] = [0, 200];
  for (; answers < 25 && last === 200; answers += 1) {
    const [client, audience] = answers % 2 === 0 ? ['api', 'urn:es'] : ['es', api];
    const answer = await exchange(client!, token, { audience: audience! });
    last = answer.status;
    token = (answer.json.access_token as string) ?? token;
  }
  expect([answers, last]).toEqual([21, 400]);
});
