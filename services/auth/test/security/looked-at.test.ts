/**
 * What a process remembers of a token that was looked at (userinfo, introspection) is forgotten when the token ends: at once where it was
 * ended, within two seconds anywhere else.
 */
import { until } from '@gatepost/testkit/until';
import { afterAll, describe, expect, test } from '@jest/globals';
import type pg from 'pg';
import { openManager } from '../manager.ts';
import { api, apiClient } from '../seeds.ts';
import { recordStatements } from '../statements.ts';
import { callback, openTarget, type Tokens } from './target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const target = stack.use(await openTarget());
const { gate, userinfo } = target;
const { DATABASE_URL, SECRETS_KEY, REDIS_KEY_PREFIX } = gate.env as Record<string, string>;
const shared = { DATABASE_URL, SECRETS_KEY, REDIS_KEY_PREFIX, ISSUER: target.issuer } as Record<string, string>;
const second = stack.use(await openTarget(shared));
const elsewhere = `http://localhost:${second.gate.env.AUTH_PORT}/`;
const manage = await openManager(gate);
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
  const { access_token } = await loginOfBob();
  expect(await isGood(access_token)).toBe(true);
  await gate.pool.query('ALTER TABLE auth.artefacts DISABLE TRIGGER USER');
  await gate.pool.query("DELETE FROM auth.artefacts WHERE account_id = 'auth0|bob'");
  await until('it is over', async () => (await userinfo(access_token)).status === 401);
  expect(await isGood(access_token)).toBe(false);
  await gate.pool.query('ALTER TABLE auth.artefacts ENABLE TRIGGER USER');
});

describe('when the application that a token was issued to is deleted', () => {
  const secret = 'doomed-doomed-secret';
  const active = async (token: string, asked = gate.issuer) => {
    const answer = await fetch(`${asked}oauth/introspect`, {
      method: 'POST',
      body: new URLSearchParams({ ...asApi, token }),
    });
    expect(answer.status).toBe(200);
    return ((await answer.json()) as { active: boolean }).active;
  };
  const doomed = async (more: object) => {
    const made = await manage('POST', 'clients', { name: 'Doomed', client_secret: secret, ...more });
    expect(made.status).toBe(201);
    return made.json.client_id as string;
  };
  const inDatabase = async <T extends pg.QueryResultRow>(text: string, values: unknown[] = []) =>
    (await gate.pool.query<T>(text, values)).rows;
  /** The machine's token for the API. */
  async function tokenOfMachine(client_id: string): Promise<string> {
    await inDatabase('INSERT INTO auth.client_grants (id, client_id, audience, scope) VALUES ($1, $1, $2, $3)', [
      client_id,
      api,
      ['read:x'],
    ]);
    let token: unknown;
    await until('the grant is known', async () => {
      ({ access_token: token } = (await target.machineToken({ client_id, client_secret: secret })).json);
      return token !== undefined;
    });
    return String(token);
  }
  const ofPerson = {
    app_type: 'regular_web',
    callbacks: [callback],
    grant_types: ['authorization_code', 'refresh_token'],
  };
  const tokensOfPerson = async (client_id: string) => {
    const given = await target.codeFor(client_id, { audience: api, scope: 'openid offline_access' });
    return (await target.redeem(client_id, { ...given, client_secret: secret })).json as Tokens;
  };

  test('a machine’s token, which has no grant, is inactive at its API', async () => {
    const client = await doomed({ app_type: 'non_interactive' });
    const token = await tokenOfMachine(client);
    expect([await active(token), await active(token, elsewhere)]).toEqual([true, true]);
    expect((await manage('DELETE', `clients/${client}`)).status).toBe(204);
    expect(await active(token)).toBe(false);
    await until('it is over elsewhere', async () => !(await active(token, elsewhere)));
  });

  test('a person’s token is inactive even while its grant is still there', async () => {
    const client = await doomed(ofPerson);
    const { access_token } = await tokensOfPerson(client);
    expect(await active(access_token)).toBe(true);
    await inDatabase('DELETE FROM auth.clients WHERE client_id = $1', [client]);
    await until('it is over', async () => !(await active(access_token)));
    expect(await isGood(access_token)).toBe(false);
  });

  test('all that it was issued goes with it, or neither does, and another attempt finds what is left', async () => {
    const client = await doomed(ofPerson);
    await tokensOfPerson(client);
    const left = async () => {
      const [row] = await inDatabase<{ clients: number; artefacts: number }>(
        `SELECT (SELECT count(*)::int FROM auth.clients WHERE client_id = $1) AS clients,
                (SELECT count(*)::int FROM auth.artefacts WHERE client_id = $1) AS artefacts`,
        [client],
      );
      return row;
    };
    await inDatabase(`
      CREATE FUNCTION auth.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'slow' USING ERRCODE = '57014'; END $$;
      CREATE TRIGGER refuse BEFORE DELETE ON auth.artefacts EXECUTE FUNCTION auth.refuse()`);
    expect((await manage('DELETE', `clients/${client}`)).status).toBe(503);
    await inDatabase('DROP FUNCTION auth.refuse CASCADE');
    expect(await left()).toEqual({ clients: 1, artefacts: 2 });
    await inDatabase('DELETE FROM auth.clients WHERE client_id = $1', [client]);
    expect((await manage('DELETE', `clients/${client}`)).status).toBe(204);
    expect(await left()).toEqual({ clients: 0, artefacts: 0 });
  });

  test('until then looking at its tokens costs no statement', async () => {
    const token = await tokenOfMachine(await doomed({ app_type: 'non_interactive' }));
    // The notification that the client was made may still be on its way.
    await until('everything is known', async () => {
      using statements = recordStatements();
      for (let round = 0; round < 3; round += 1) expect(await active(token)).toBe(true);
      return statements.texts.length === 0;
    });
  });
});

test('a person’s changed name is at userinfo at once in the process that changed it', async () => {
  const { access_token } = await target.login('spa', { audience: api, scope: 'openid profile' });
  const name = async () => (await userinfo(access_token)).json.name;
  const before = await name();
  await manage('PATCH', 'users/auth0%7Calice', { name: `${before} the Second` });
  expect(await name()).toBe(`${before} the Second`);
});
