import { openLog } from '@gatepost/runtime/log';
import { makeSeal } from '@gatepost/runtime/seal';
import { openCuttable } from '@gatepost/testkit/cut';
import { openReceiver } from '@gatepost/testkit/receiver';
import { freshDatabase } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import type { Pool } from '@gatepost/webhook-db/pool';
import { expect, test } from '@jest/globals';
import pg from 'pg';
import { type Account, openAccounts } from '../src/accounts.ts';
import { openWorld } from './world.ts';

// Used to match against what was known before: on a busy machine a hook's first event could be there before the notification.
test('an event published after a hook was created finds the hook, even if no notification has arrived', async () => {
  await using world = await openWorld();
  await using silent = await freshDatabase();
  await using stack = new AsyncDisposableStack();
  const elsewhere = stack.adopt(new pg.Pool({ connectionString: silent.url }), (opened) => opened.end());
  const toWhere = (text: unknown) => (/pg_notify/.test(String(text)) ? elsewhere : world.pool);
  await world.addAccount('acme', ['widgets']);
  await using accounts = await openAccounts({
    pool: { query: (...given: [string]) => toWhere(given[0]).query(...given) } as Pool,
    directUrl: silent.url, // nobody tells of changes there
    seal: makeSeal(Buffer.from(world.env.SECRETS_KEY!, 'base64')),
    log: openLog('test', 'silent'),
  });
  const now = async () => (await accounts.ofLogins(['acme', 'nobody'])).get('acme')?.account;
  expect(accounts.remembered(['acme'])).toBeUndefined();
  const before = await now();
  expect(before?.hooks.size).toBe(0);
  expect(accounts.remembered(['acme'])?.get('acme')?.account).toBe(before);
  expect(accounts.remembered(['acme', 'nobody'])).toBeUndefined();
  expect(await now()).toBe(before); // nothing changed, nothing read again

  const id = await world.addHook('acme', { url: 'http://receiver.test/' });
  expect([...(await now())!.hooks.keys()]).toEqual([id]);
  await world.pool.query('UPDATE hooks SET active = false');
  expect((await now())?.hooks.get(id)?.deliverable).toBe(false);

  // Whoever has been told since that it is active again must not be told by what is remembered that it is not.
  await world.pool.query('UPDATE hooks SET active = true');
  const since = performance.now();
  const isDeliverable = (account: Account | undefined) => account?.hooks.get(id)?.deliverable;
  expect(isDeliverable(await accounts.ofId(before!.id))).toBe(false);
  const together = await Promise.all([1, 2, 3].map(() => accounts.ofIdSince(before!.id, since)));
  expect(together.map(isDeliverable)).toEqual([true, true, true]);
  expect(new Set(together).size).toBe(1); // read once for all of them
  await world.pool.query('DELETE FROM hooks');
  expect((await now())?.hooks.size).toBe(0);

  await world.addAccount('nobody');
  expect((await accounts.ofLogins(['nobody'])).has('nobody')).toBe(true);
});

// Versions are counted in PostgreSQL: those that the new primary lacks are given once more.
test('a change of a hook that a failover lost is forgotten, though the next change has its version', async () => {
  await using world = await openWorld();
  await using direct = await openCuttable(world.databaseUrl);
  await world.addAccount('acme');
  const id = await world.addHook('acme', { url: 'http://receiver.test/kept' });
  await using accounts = await openAccounts({
    pool: world.pool,
    directUrl: direct.url,
    seal: makeSeal(Buffer.from(world.env.SECRETS_KEY!, 'base64')),
    log: openLog('test', 'silent'),
  });
  const read = async () => {
    const { account } = (await accounts.ofLogins(['acme'])).get('acme')!;
    return { version: account.version, url: (await accounts.hookOf(account, id))?.url };
  };
  const change = (url: string) => world.pool.query('UPDATE hooks SET url = $1', [url]);
  const kept = await read();
  await change('http://receiver.test/lost');
  const lost = await read();
  expect(lost).toEqual({ version: kept.version + 1, url: 'http://receiver.test/lost' });

  await direct.cut();
  await until('it hears nothing', () => !accounts.isHearing());
  // What a standby has that did not receive the last commit.
  await world.pool.query('ALTER TABLE hooks DISABLE TRIGGER USER');
  await change('http://receiver.test/kept');
  await world.pool.query('ALTER TABLE hooks ENABLE TRIGGER USER');
  await world.pool.query('UPDATE account_versions SET version = version - 1');
  await direct.restore();
  await until('it hears again', () => accounts.isHearing());
  expect(await read()).toEqual(kept);
  await change('http://receiver.test/next');
  expect(await read()).toEqual({ version: lost.version, url: 'http://receiver.test/next' });
});

test('a dispatcher whose connections for changes and for its lock fall silent is not ready until they answer again', async () => {
  await using world = await openWorld();
  await using direct = await openCuttable(world.databaseUrl);
  await using receiver = await openReceiver();
  await world.addAccount('acme', ['widgets']);
  await world.addHook('acme', { url: receiver.url });
  const dispatcher = await world.start({ WEBHOOK_DATABASE_DIRECT_URL: direct.url });
  await world.deliveries(await world.publish({}));
  direct.hold(true);
  await until('it says so', async () => (await dispatcher.readiness()) === 503);
  direct.hold(false);
  await until('readiness', async () => (await dispatcher.readiness()) === 200);
  expect(await world.deliveries(await world.publish({}))).toMatchObject([{ status: 'OK' }]);
});
