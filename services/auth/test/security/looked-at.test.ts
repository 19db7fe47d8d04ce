/**
 * What a process remembers of a token that was looked at (userinfo, introspection) is forgotten when the token ends: at once where it was
 * ended, within two seconds anywhere else.
 */
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { api, apiClient } from '../seeds.ts';
import { openManager, openTarget, type Tokens } from './target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const target = stack.use(await openTarget());
const { gate, userinfo } = target;
const { DATABASE_URL, SECRETS_KEY, REDIS_KEY_PREFIX } = gate.env as Record<string, string>;
const shared = { DATABASE_URL, SECRETS_KEY, REDIS_KEY_PREFIX, ISSUER: target.issuer } as Record<string, string>;
const second = stack.use(await openTarget(shared));
const elsewhere = `http://localhost:${second.gate.env.AUTH_PORT}/`;
const manage = await openManager(target);
const bob = 'users/auth0%7Cbob';
const asApi = { client_id: apiClient.client_id, client_secret: apiClient.client_secret };

async function loginOfBob(): Promise<Tokens> {
  const browser = await target.loggedIn('bob@example.com');
  const given = await target.codeFor('spa', { audience: api, scope: 'openid offline_access' }, browser);
  return (await target.redeem('spa', given)).json as Tokens;
}

/** Whether the token is good here: at userinfo, and active at introspection. */
async function isGood(token: string): Promise<boolean> {
  const { status } = await userinfo(token);
  const { active } = (await gate.post('oauth/introspect', { ...asApi, token })).json;
  expect(status).toBe(active ? 200 : 401);
  return status === 200;
}

async function isGoodElsewhere(token: string): Promise<boolean> {
  const { status } = await fetch(`${elsewhere}userinfo`, { headers: { authorization: `Bearer ${token}` } });
  return status === 200;
}

/** It is looked at in both processes, which remember it; then it ends. */
async function expectEnd(token: string, end: () => Promise<unknown>): Promise<void> {
  expect([await isGood(token), await isGoodElsewhere(token)]).toEqual([true, true]);
  await end();
  expect(await isGood(token)).toBe(false);
  await until('it is over elsewhere', async () => !(await isGoodElsewhere(token)));
}

test.each<[what: string, end: (tokens: Tokens) => Promise<unknown>]>([
  ['its JWT is revoked', ({ access_token }) => gate.post('oauth/revoke', { token: access_token, client_id: 'spa' })],
  [
    'its refresh token is revoked',
    (tokens) => gate.post('oauth/revoke', { token: tokens.refresh_token, client_id: 'spa' }),
  ],
  [
    'its refresh token is used twice',
    async ({ refresh_token }) => {
      await target.refresh('spa', refresh_token);
      expect((await target.refresh('spa', refresh_token)).status).toBe(400);
    },
  ],
  ['its person’s password is changed', () => manage('PATCH', bob, { password: 'a longer battery staple' })],
  ['its person is blocked', () => manage('PATCH', bob, { blocked: true })],
])('sec-095-remembered: a token is refused when %s', async (_what, end) => {
  const tokens = await loginOfBob();
  await expectEnd(tokens.access_token, () => end(tokens));
  await manage('PATCH', bob, { blocked: false, password: 'correct horse battery staple' });
});

test('sec-095-remembered: a token is refused also after an unannounced change in the database', async () => {
  const db = new pg.Client({ connectionString: gate.databaseUrl });
  await db.connect();
  await using _ = { [Symbol.asyncDispose]: () => db.end() };
  const { access_token } = await loginOfBob();
  expect(await isGood(access_token)).toBe(true);
  await db.query('ALTER TABLE auth.artefacts DISABLE TRIGGER USER');
  await db.query("DELETE FROM auth.artefacts WHERE account_id = 'auth0|bob'");
  await until('it is over', async () => (await userinfo(access_token)).status === 401);
  expect(await isGood(access_token)).toBe(false);
  await db.query('ALTER TABLE auth.artefacts ENABLE TRIGGER USER');
});

test('a person’s changed name is at userinfo at once in the process that changed it', async () => {
  const { access_token } = await target.login('spa', { audience: api, scope: 'openid profile' });
  const name = async () => (await userinfo(access_token)).json.name;
  const before = await name();
  await manage('PATCH', 'users/auth0%7Calice', { name: `${before} the Second` });
  expect(await name()).toBe(`${before} the Second`);
});
