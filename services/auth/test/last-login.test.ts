/** What `api/v2/users` says of a person's logins. */

import { openLog } from '@gatepost/runtime/log';
import { Browser } from '@gatepost/testkit/browser';
import { freshDatabase } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { expect, test } from '@jest/globals';
import { openLastLogins } from '../src/accounts/last-login.ts';
import { openDatabase } from '../src/database.ts';
import { migrateAuth } from '../src/migrations.ts';
import { openGate } from './gate.ts';
import { alice, apis, machine, web } from './seeds.ts';

const redirect_uri = web.callbacks[0]!;

test('each login is counted and dated once', async () => {
  await using gate = await openGate((issuer: string) => ({
    apis,
    clients: [{ ...machine, client_grants: [{ audience: `${issuer}api/v2/`, scope: ['read:users'] }] }, web],
    users: [alice, { ...alice, user_id: 'auth0|bob', email: 'bob@example.com', phone_number: '+15555550101' }],
    connections: [{ name: 'Username-Password-Authentication', strategy: 'auth0' }],
  }));
  const startedAt = Date.now();
  const logIn = async (email: string) => {
    const browser = new Browser(gate);
    const page = await browser.authorize({ client_id: 'web', redirect_uri, response_type: 'code', scope: 'openid' });
    return (await browser.logIn(page, email, alice.password)).location?.searchParams.get('code');
  };
  const codes = await Promise.all(['alice', 'bob', 'alice', 'alice'].map((name) => logIn(`${name}@example.com`)));
  expect(codes).toEqual(codes.map(() => expect.any(String)));

  const { json } = await gate.post('oauth/token', {
    grant_type: 'client_credentials',
    client_id: machine.client_id,
    client_secret: machine.client_secret,
    audience: `${gate.issuer}api/v2/`,
  });
  const user = async (id: string) =>
    (await gate.get(`api/v2/users/${id}`, { authorization: `Bearer ${json.access_token}` })).json;
  const counted = await until('all logins are counted', async () => {
    const [aliceNow, bobNow] = [await user('auth0|alice'), await user('auth0|bob')];
    return aliceNow.logins_count === 3 && bobNow.logins_count === 1 && [aliceNow, bobNow];
  });
  for (const { last_login: at, last_ip: ip } of counted) {
    expect(ip).toBe('127.0.0.1');
    expect(Date.parse(String(at))).toBeGreaterThanOrEqual(startedAt - 1);
    expect(Date.parse(String(at))).toBeLessThanOrEqual(Date.now());
  }
});

test('a login that is written after a newer one is counted, and leaves the time and address of the newest', async () => {
  await using database = await freshDatabase();
  await migrateAuth(database.url);
  const log = openLog('test', 'silent');
  await using opened = openDatabase({ url: database.url, isPooled: false }, 30_000, log);
  const { pool, db } = opened;
  const newest = { lastLogin: new Date(Date.now() + 60_000), lastIp: '203.0.113.2', loginsCount: 1 };
  const ids = { userId: 'auth0|alice', email: 'alice@example.com', connection: 'db' };
  await db.account.create({ data: { ...ids, ...newest } });
  {
    await using logins = openLastLogins(pool, log);
    logins.note('auth0|alice', '203.0.113.1');
  }
  expect(await db.account.findFirst()).toMatchObject({ ...newest, loginsCount: 2 });
});
