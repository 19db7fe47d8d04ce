/** One suite that every store of artefacts passes: what oidc-provider relies on, and the races it does not close itself. */

import { openLog } from '@gatepost/runtime/log';
import { freshDatabase, freshPrefix, redisUrl } from '@gatepost/testkit/stores';
import { afterAll, describe, expect, test } from '@jest/globals';
import type { Adapter } from 'oidc-provider';
import pg from 'pg';
import { endAccess } from '../src/accounts/end-access.ts';
import { AlreadyConsumed } from '../src/adapter/consumed.ts';
import { hashId, hashIds } from '../src/adapter/hashed.ts';
import { makePostgresAdapter } from '../src/adapter/postgres.ts';
import { redisAdapters } from '../src/adapter/redis.ts';
import { makeSessions } from '../src/adapter/sessions.ts';
import { openDatabase } from '../src/database.ts';
import { makeUnique } from '../src/library/tokens/replay-detection.ts';
import { migrateAuth } from '../src/migrations.ts';
import { openRedis } from '../src/redis.ts';
import { lockRow } from './row-lock.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const log = openLog('test', 'silent');
const { url } = stack.use(await freshDatabase());
await migrateAuth(url);
const { pool, db } = stack.use(openDatabase({ url, isPooled: false }, 30_000, log));
const redis = stack.adopt(await openRedis(redisUrl(), 30_000, log), (opened) => void opened.disconnect());
const prefix = freshPrefix();

const stores: [string, (model: string) => Adapter][] = [
  ['PostgreSQL', (model) => makePostgresAdapter(pool, model)],
  ['Redis', (model) => redisAdapters(redis, prefix)(model, true)],
  ['PostgreSQL, ids hashed', (model) => hashIds(makePostgresAdapter(pool, `${model}h`))],
  ['Redis, ids hashed', (model) => hashIds(redisAdapters(redis, `${prefix}h:`)(model, true))],
];
let sequence = 0;
const newId = () => `artefact-${++sequence}`;

describe.each(stores)('the adapter for %s', (_name, open) => {
  const adapter = open('RefreshToken');

  test('finds what was stored, and undefined for anything else', async () => {
    const id = newId();
    const payload = {
      jti: id,
      kind: 'RefreshToken',
      grantId: 'g',
      accountId: 'auth0|a',
      clientId: 'c',
      nonce: 'ö\u2028',
    };
    await adapter.upsert(id, payload, 60);
    expect(await adapter.find(id)).toEqual(payload);
    expect(await adapter.find(newId())).toBeUndefined();
  });

  test('returns a fresh copy each time', async () => {
    const id = newId();
    await adapter.upsert(id, { jti: id, claims: {} }, 60);
    const first = await adapter.find(id);
    first!.clientId = 'changed';
    expect(await adapter.find(id)).toEqual({ jti: id, claims: {} });
  });

  test('replaces an artefact on a second upsert', async () => {
    const id = newId();
    await adapter.upsert(id, { jti: id, scope: 'a' }, 60);
    await adapter.upsert(id, { jti: id, scope: 'b' }, 60);
    expect((await adapter.find(id))?.scope).toBe('b');
  });

  test('forgets a destroyed artefact', async () => {
    const id = newId();
    await adapter.upsert(id, { jti: id }, 60);
    await adapter.destroy(id);
    expect(await adapter.find(id)).toBeUndefined();
  });

  test('keeps a consumed artefact until its expiry, so that reuse is detected', async () => {
    const id = newId();
    await adapter.upsert(id, { jti: id }, 60);
    const before = Math.floor(Date.now() / 1000);
    await adapter.consume(id);
    const { consumed } = (await adapter.find(id)) as { consumed: number };
    expect(consumed).toBeGreaterThanOrEqual(before);
    expect(consumed).toBeLessThanOrEqual(Date.now() / 1000);
  });

  test('does not keep an expired artefact', async () => {
    const id = newId();
    await adapter.upsert(id, { jti: id }, 1);
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect(await adapter.find(id)).toBeUndefined();
  });

  test('revokes all artefacts of one grant and of no other', async () => {
    const [one, two, other] = [newId(), newId(), newId()];
    await adapter.upsert(one, { jti: one, grantId: 'grant-1' }, 60);
    await adapter.upsert(two, { jti: two, grantId: 'grant-1' }, 30);
    await adapter.upsert(other, { jti: other, grantId: 'grant-2' }, 60);
    await adapter.revokeByGrantId('grant-1');
    expect(await adapter.find(one)).toBeUndefined();
    expect(await adapter.find(two)).toBeUndefined();
    expect(await adapter.find(other)).toBeDefined();
  });

  test('refuses to consume an artefact that does not exist', async () => {
    await expect(adapter.consume(newId())).rejects.toMatchObject({ error: 'invalid_grant' });
  });

  test('lets exactly one of eight parallel consumers through, fifty times', async () => {
    for (let round = 0; round < 50; round += 1) {
      const id = newId();
      await adapter.upsert(id, { jti: id }, 60);
      const results = await Promise.allSettled(Array.from({ length: 8 }, () => adapter.consume(id)));
      expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(1);
    }
  });
});

test('a request that was about to extend a revoked grant does not revive it', async () => {
  await pool.query("INSERT INTO accounts (user_id, connection) VALUES ('auth0|grantor', 'c')");
  const grants = makePostgresAdapter(pool, 'Grant');
  const payload = { jti: 'grant-3', accountId: 'auth0|grantor', clientId: 'c' };
  await grants.upsert('grant-3', payload, 60);
  await grants.upsert('grant-3', { ...payload, openid: { scope: 'openid' } } as never, 60);
  expect(await grants.find('grant-3')).toMatchObject({ openid: { scope: 'openid' } });
  await grants.destroy('grant-3');
  await expect(grants.upsert('grant-3', payload, 60)).rejects.toMatchObject({ error: 'access_denied' });
  expect(await grants.find('grant-3')).toBeUndefined();
});

test('requests that add to a grant at the same time lose nothing that another has added', async () => {
  await pool.query("INSERT INTO accounts (user_id, connection) VALUES ('auth0|parallel', 'c')");
  const grants = makePostgresAdapter(pool, 'Grant');
  const payload = { jti: 'grant-5', accountId: 'auth0|parallel', clientId: 'c', exp: 1 };
  const save = (given: object) => grants.upsert('grant-5', { ...payload, ...given } as never, 60);
  const openid = { scope: 'profile openid' };
  await save({ openid });
  // Each has read the grant before the other wrote it.
  await save({
    openid: { scope: 'profile openid email', claims: ['name'] },
    resources: { 'urn:one': 'write:a read:a' },
  });
  await save({ openid: { ...openid, claims: ['zoneinfo'] }, resources: { 'urn:two': 'b' }, exp: 2 });
  await save({ openid, resources: { 'urn:one': 'write:a more:a' } });
  expect(await grants.find('grant-5')).toEqual({
    ...payload,
    openid: { scope: 'profile openid email', claims: ['name', 'zoneinfo'] },
    resources: { 'urn:one': 'write:a read:a more:a', 'urn:two': 'b' },
  });
});

test('requests of one session at the same time lose no application of each other', async () => {
  const adapter = redisAdapters(redis, prefix)('Session', false);
  const sessions = makeSessions(redis, prefix);
  const session = { jti: 'session-1', uid: 'uid-1', accountId: 'auth0|parallel', loginTs: 1 };
  const first = { first: { sid: 'a', grantId: 'g' } };
  await adapter.upsert('session-1', { ...session, authorizations: first }, 60);
  // Each has read the session before the other wrote it.
  await adapter.upsert('session-1', { ...session, authorizations: { ...first, second: { sid: 'b' } } }, 60);
  await adapter.upsert('session-1', { ...session, authorizations: { ...first, third: { sid: 'c' } } }, 60);
  await adapter.upsert('session-1', session, 60);
  const all = { ...session, authorizations: { ...first, second: { sid: 'b' }, third: { sid: 'c' } } };
  expect(await adapter.find('session-1')).toEqual(all);
  expect(await adapter.findByUid('uid-1')).toEqual(all);
  expect(await sessions.find('uid-1')).toEqual(all);
  expect(await sessions.ofAccount('auth0|parallel')).toEqual([all]);
  await adapter.destroy('session-1');
  expect(await adapter.find('session-1')).toBeUndefined();
});

test('a session that a slow request has written again under its former id ends under both', async () => {
  const adapter = redisAdapters(redis, prefix)('Session', false);
  const sessions = makeSessions(redis, prefix);
  const session = { uid: 'uid-2', accountId: 'auth0|parallel', loginTs: 1 };
  await adapter.upsert('session-2', { ...session, jti: 'session-2' }, 60);
  await adapter.destroy('session-2');
  await adapter.upsert('session-3', { ...session, jti: 'session-3' }, 60);
  await adapter.upsert('session-2', { ...session, jti: 'session-2' }, 60);
  await sessions.end('uid-2');
  expect(await Promise.all(['session-2', 'session-3'].map((id) => adapter.find(id)))).toEqual([undefined, undefined]);
  expect(await adapter.findByUid('uid-2')).toBeUndefined();
});

test('each revoked grant is announced to other processes, and gone there at once', async () => {
  const announced: (string | undefined)[] = [];
  const listener = new pg.Client({ connectionString: url });
  await listener.connect();
  listener.on('notification', ({ payload }) => announced.push(payload));
  await listener.query('LISTEN auth_changed');
  const grants = makePostgresAdapter(pool, 'Grant');
  const payload = { accountId: 'auth0|grantor', clientId: 'c' };
  const ids = Array.from({ length: 20 }, (_, index) => `grant-to-end-${index}`);
  for (const id of ids) {
    await grants.upsert(id, payload, 60);
    await grants.destroy(id);
  }
  await listener.query('SELECT'); // what was announced before has arrived with its answer
  await listener.end();
  expect(announced).toEqual(ids.map(() => 'artefacts'));
});

test('a session is found by its uid, a device code by its user code', async () => {
  const sessions = redisAdapters(redis, prefix)('Session', false);
  await sessions.upsert('session-1', { jti: 'session-1', uid: 'uid-1' }, 60);
  expect(await sessions.findByUid('uid-1')).toEqual({ jti: 'session-1', uid: 'uid-1' });
  const codes = redisAdapters(redis, prefix)('DeviceCode', true);
  await codes.upsert('device-1', { jti: 'device-1', userCode: 'BCDF' }, 60);
  expect(await codes.findByUserCode('BCDF')).toMatchObject({ jti: 'device-1' });
});

describe('of two people who answer a device code at once', () => {
  const codes = redisAdapters(redis, prefix)('DeviceCode', true);
  const denial = { error: 'access_denied' };
  const confirmation = { inFlight: true };
  const base = { kind: 'DeviceCode', clientId: 'tv' };
  const change = (id: string, step: object) => codes.upsert(id, { jti: id, ...base, ...step }, 60);

  test.each<[string, string, object, object]>([
    ['denies', 'confirms', denial, confirmation],
    ['confirms', 'denies', confirmation, denial],
    ['confirms', 'also confirms', confirmation, confirmation],
  ])(
    'the first, who %s it, is followed, and the second, who %s it, is refused',
    async (_first, _second, first, second) => {
      const id = newId();
      await change(id, {});
      await change(id, first);
      await expect(change(id, second)).rejects.toThrow(AlreadyConsumed);
      expect(await codes.find(id)).toEqual({ jti: id, ...base, ...first });
    },
  );

  test('the one who confirmed it decides it, once', async () => {
    const id = newId();
    await change(id, {});
    await change(id, confirmation);
    const allowed = { ...confirmation, accountId: 'auth0|a', grantId: 'g-device' };
    await change(id, allowed);
    for (const late of [{ ...allowed, accountId: 'auth0|b' }, { ...confirmation, ...denial }, denial, confirmation])
      await expect(change(id, late)).rejects.toThrow(AlreadyConsumed);
    expect(await codes.find(id)).toEqual({ jti: id, ...base, ...allowed });
  });

  test('the one who confirmed it gives it back for whoever confirms it next, once, and no answer is taken back', async () => {
    const id = newId();
    await change(id, {});
    await change(id, confirmation);
    const returned = { inFlight: false };
    await change(id, returned);
    await expect(change(id, returned)).rejects.toThrow(AlreadyConsumed);
    await change(id, confirmation);
    await change(id, { ...confirmation, ...denial });
    await expect(change(id, returned)).rejects.toThrow(AlreadyConsumed);
    expect(await codes.find(id)).toEqual({ jti: id, ...base, ...confirmation, ...denial });
  });
});

test('a DPoP proof is accepted once, by whichever of eight parallel requests comes first', async () => {
  const inAMinute = Math.floor(Date.now() / 1_000) + 60;
  const unique = (issuer: string) => makeUnique(redis, prefix)(issuer, 'proof-1', inAMinute);
  const results = await Promise.all(Array.from({ length: 8 }, () => unique('client')));
  expect(results.filter(Boolean)).toHaveLength(1);
  expect([await unique('client'), await unique('another')]).toEqual([false, true]);
});

test('a client assertion with a fractional or absurdly distant expiry is also accepted once', async () => {
  const unique = makeUnique(redis, prefix);
  for (const exp of [Date.now() / 1_000 + 60.5, 1e300, Number.POSITIVE_INFINITY])
    expect([await unique('client', `until ${exp}`, exp), await unique('client', `until ${exp}`, exp)]).toEqual([
      true,
      false,
    ]);
});

test('no secret is stored as an id', async () => {
  const adapter = hashIds(makePostgresAdapter(pool, 'Secret'));
  await adapter.upsert('the-secret', { jti: 'the-secret' }, 60);
  const { rows } = await pool.query("SELECT id, payload::text FROM artefacts WHERE model = 'Secret'");
  expect(rows).toEqual([{ id: hashId('the-secret'), payload: '{}' }]);
});

test('PostgreSQL stores a backslash, and a value that it cannot store is the request’s fault', async () => {
  const adapter = makePostgresAdapter(pool, 'RefreshToken');
  const payload = { nonce: '\\u0000 \\\\ud800 \u{1f600}' };
  await adapter.upsert('backslash', payload, 60);
  expect(await adapter.find('backslash')).toEqual(payload);
  for (const nonce of ['\0', 'a\ud800', '\udc00', '\\\0'])
    await expect(adapter.upsert('never', { nonce }, 60)).rejects.toMatchObject({ error: 'invalid_request' });
});

test('a grant is deleted with its account, and none is written for a deleted account', async () => {
  const grants = makePostgresAdapter(pool, 'Grant');
  const account = () => pool.query("INSERT INTO accounts (user_id, connection) VALUES ('auth0|once', 'db')");
  const remove = () => pool.query("DELETE FROM accounts WHERE user_id = 'auth0|once'");
  const payload = { accountId: 'auth0|once', clientId: 'c' };
  await expect(grants.upsert('early', payload, 60)).rejects.toMatchObject({ error: 'access_denied' });
  await account();
  await grants.upsert('grant', payload, 60);
  expect(await grants.find('grant')).toEqual(payload);
  await remove();
  await account();
  expect(await grants.find('grant')).toBeUndefined();
});

test('a grant that was ended stays so for an authorization that read it before', async () => {
  const grants = makePostgresAdapter(pool, 'Grant');
  await pool.query("INSERT INTO accounts (user_id, connection) VALUES ('auth0|leaver', 'db')");
  const payload = { accountId: 'auth0|leaver', clientId: 'c', openid: { scope: 'openid email' } };
  await grants.upsert('kept', payload, 60);
  await grants.upsert('other', { ...payload, clientId: 'd' }, 60);
  const extended = { ...(await grants.find('kept')), openid: { scope: 'openid email profile' } };
  await endAccess(db, 'auth0|leaver', 'c');
  await expect(grants.upsert('kept', extended, 60)).rejects.toMatchObject({ error: 'access_denied' });
  expect(await grants.find('kept')).toBeUndefined();
  expect(await grants.find('other')).toBeDefined();

  // The authorization may have begun to write, and wait for the account.
  await using change = await lockRow(pool, "UPDATE accounts SET name = 'L' WHERE user_id = 'auth0|leaver'");
  const written = expect(grants.upsert('other', extended, 60)).rejects.toMatchObject({ error: 'access_denied' });
  await change.waiting();
  await endAccess(db, 'auth0|leaver');
  await change.release();
  await written;
  expect(await grants.find('other')).toBeUndefined();
});
