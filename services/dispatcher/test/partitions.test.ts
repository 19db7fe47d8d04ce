import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { openReceiver } from '@gatepost/testkit/receiver';
import { until } from '@gatepost/testkit/until';
import { expect, test } from '@jest/globals';
import { isMissingPartition } from '../src/partitions.ts';
import { openWorld, type World } from './world.ts';

test('missing partitions are created even while events arrive, and partitions past their retention are dropped', async () => {
  await using world = await openWorld();
  await using receiver = await openReceiver();
  await world.addAccount('acme', ['widgets']);
  await world.addHook('acme', { url: receiver.url });
  const names = async () => {
    const { rows } = await world.pool.query<{ name: string }>(
      `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent IN ('events'::regclass, 'deliveries'::regclass) ORDER BY 1`,
    );
    return rows.map((row) => row.name);
  };
  const day = async (offset: number) => {
    const { rows } = await world.pool.query<{ day: string }>(
      `SELECT to_char((now() AT TIME ZONE 'UTC')::date + $1::int, 'YYYYMMDD') AS day`,
      [offset],
    );
    return rows[0]!.day;
  };
  const made = await names();
  // Nobody ran for days: there are old partitions, and none of today or later.
  for (const name of made) await world.pool.query(`DROP TABLE ${name}`);
  for (const offset of [-5, -4, -3]) {
    for (const parent of ['events', 'deliveries']) {
      const [from, to] = [await day(offset), await day(offset + 1)];
      await world.pool.query(
        `CREATE TABLE ${parent}_${from} PARTITION OF ${parent} FOR VALUES FROM ('${from}') TO ('${to}')`,
      );
    }
  }
  // The oldest days have an event whose delivery is paused, or waits for its next attempt.
  await world.pool.query(
    `INSERT INTO parked (delivery_id, account_id, reason, due_at, published_at, event_key, event_on, job)
     VALUES (1, 1, 'throttle', 'infinity', 'infinity', gen_random_uuid(), '${await day(-4)}', '{}'),
            (2, 1, 'retry', now() + interval '1 day', NULL, gen_random_uuid(), '${await day(-5)}', '{}')`,
  );
  // The newest of them has events of two accounts, one of which was deleted.
  const addEvent = async (offset: number, accountId: number) =>
    world.pool.query(
      `INSERT INTO events (key, received_on, guid, source, event_id, type, account_id, occurred_at, hook_ids, delivery_ids)
       VALUES (gen_random_uuid(), '${await day(offset)}', gen_random_uuid(), 'urn:old', 'x', 'push', ${accountId}, now(), '{}', '{}')`,
    );
  for (const accountId of [77, 78]) await addEvent(-3, accountId);
  await world.pool.query('INSERT INTO erasures (account_id) VALUES (77)');
  // Statistics are kept by the week, and longer.
  await world.pool.query(`
    UPDATE delivery_kinds_known SET since = '2026-01-02 00:00+00';
    CREATE TABLE delivery_stats_20260101 PARTITION OF delivery_stats FOR VALUES FROM ('2026-01-01 00:00+00') TO ('2026-01-08 00:00+00');
    INSERT INTO delivery_stats (account_id, hook_id, minute, part, delivered)
    SELECT account, 0, now(), 0, 1 FROM unnest(ARRAY[77, 78]) AS account`);
  const dispatcher = await world.start({ DELIVERY_RETENTION_DAYS: '3', STATS_RETENTION_DAYS: '100' });
  await until('a deleted account is erased', async () => {
    const { rows } = await world.pool.query<{ id: number }>(
      "SELECT account_id AS id FROM events WHERE source = 'urn:old'",
    );
    return rows.length === 1 && rows[0]!.id === 78;
  });
  const { rows: counted } = await world.pool.query('SELECT account_id FROM delivery_stats WHERE delivered > 0');
  expect(counted).toEqual([{ account_id: 78 }]);
  await until('the oldest statistics are dropped', async () => {
    const { rows } = await world.pool.query("SELECT to_regclass('delivery_stats_20260101') IS NULL AS gone");
    return rows[0]!.gone;
  });
  // What they said of minutes without deliveries is not known any more.
  const { rows: known } = await world.pool.query<{ since: Date }>('SELECT since FROM delivery_kinds_known');
  expect(known[0]!.since.toISOString()).toBe('2026-01-08T00:00:00.000Z');
  await until('the oldest is dropped', async () => !(await names()).includes(`deliveries_${await day(-4)}`));
  const old = [`deliveries_${await day(-3)}`, `events_${await day(-3)}`];
  expect(await names()).toEqual([...made, ...old, `events_${await day(-4)}`, `events_${await day(-5)}`].sort());
  await world.pool.query('DELETE FROM parked');
  await world.pool.query('SELECT drop_old_partitions(3)');
  expect(await names()).toEqual([...made, ...old].sort());

  // And again while it runs: the first insert finds none and makes them.
  for (const name of made) await world.pool.query(`DROP TABLE ${name}`);
  const guid = await world.publish({});
  const [row] = await world.deliveries(guid);
  expect(row?.status).toBe('OK');
  expect(await dispatcher.stop()).toBe(0);
});

test('a missing partition is recognized whatever language PostgreSQL speaks, and a violated check is none', async () => {
  await using world = await openWorld();
  const errorOf = (text: string) => world.pool.query(text).catch((error: unknown) => error);
  await world.pool.query(
    "CREATE TABLE parts (day date, CONSTRAINT late CHECK (day > '2000-01-01')) PARTITION BY RANGE (day)",
  );
  const missing = (await errorOf("INSERT INTO parts VALUES ('2026-01-01')")) as Error;
  missing.message = 'keine Partition von Relation »parts« für die Zeile gefunden';
  expect(isMissingPartition(missing)).toBe(true);
  await world.pool.query('CREATE TABLE any_day PARTITION OF parts DEFAULT');
  expect(isMissingPartition(await errorOf("INSERT INTO parts VALUES ('1999-01-01')"))).toBe(false);
});

/** A user with the rights of docs/deploying.md, which owns nothing. */
async function addServicesUser({ pool, databaseUrl }: World): Promise<AsyncDisposable & { url: string }> {
  const [name, password] = [`post_${randomBytes(6).toString('hex')}`, randomBytes(12).toString('hex')];
  const text = readFileSync(new URL('../../../docs/deploying.md', import.meta.url), 'utf8');
  const [, rights = ''] = /```sql\n(GRANT USAGE ON SCHEMA webhooks TO post;[^`]*)```/.exec(text) ?? [];
  await pool.query(`CREATE ROLE ${name} LOGIN PASSWORD '${password}'; ${rights.replaceAll('TO post;', `TO ${name};`)}`);
  const url = new URL(databaseUrl);
  Object.assign(url, { username: name, password });
  return {
    url: url.href,
    async [Symbol.asyncDispose]() {
      await pool.query(`DROP OWNED BY ${name}; DROP ROLE ${name}`);
    },
  };
}

// It made none: on the fourth day after the migrations every event became a dead letter.
test('a dispatcher whose user owns nothing makes the days to come, and drops the old ones', async () => {
  await using world = await openWorld();
  await using receiver = await openReceiver();
  await using user = await addServicesUser(world);
  await world.addAccount('acme', ['widgets']);
  await world.addHook('acme', { url: receiver.url });
  const { rows: days } = await world.pool.query<{ name: string }>(
    `SELECT inhrelid::regclass::text AS name FROM pg_inherits
      WHERE inhparent IN ('events'::regclass, 'deliveries'::regclass, 'delivery_stats'::regclass)`,
  );
  for (const { name } of days) await world.pool.query(`DROP TABLE ${name}`);
  await world.pool.query(`
    CREATE TABLE deliveries_20260101 PARTITION OF deliveries FOR VALUES FROM ('20260101') TO ('20260102');
    CREATE TABLE delivery_stats_20260101 PARTITION OF delivery_stats FOR VALUES FROM ('2026-01-01 00:00+00') TO ('2026-01-08 00:00+00');
    INSERT INTO erasures VALUES (77, now() - interval '1 hour')`);
  const dispatcher = await world.start({ WEBHOOK_DATABASE_URL: user.url });
  const [row] = await world.deliveries(await world.publish({}));
  expect(row?.status).toBe('OK');
  await until('the old days are dropped, and a deleted account is erased', async () => {
    const { rows } = await world.pool.query(
      `SELECT coalesce(to_regclass('deliveries_20260101'), to_regclass('delivery_stats_20260101')) IS NULL
          AND NOT EXISTS (SELECT FROM erasures) AS done`,
    );
    return rows[0]!.done;
  });
  expect(await dispatcher.stop()).toBe(0);
});

// A copy of the database may take hours.
test('the old log is dropped and a deleted account is erased even while somebody reads old statistics', async () => {
  await using world = await openWorld();
  await world.pool.query(`
    CREATE TABLE delivery_stats_20260101 PARTITION OF delivery_stats FOR VALUES FROM ('2026-01-01 00:00+00') TO ('2026-01-08 00:00+00');
    CREATE TABLE deliveries_20260101 PARTITION OF deliveries FOR VALUES FROM ('20260101') TO ('20260102');
    INSERT INTO erasures VALUES (77, now() - interval '1 hour')`);
  using held = new DisposableStack();
  const reader = held.adopt(await world.pool.connect(), (client) => client.release(true));
  await reader.query('BEGIN; LOCK TABLE delivery_stats_20260101 IN ACCESS SHARE MODE');
  const dispatcher = await world.start();
  await until('the account is erased', async () => (await world.pool.query('SELECT FROM erasures')).rowCount === 0);
  const { rows } = await world.pool.query("SELECT to_regclass('deliveries_20260101') AS log");
  expect(rows).toEqual([{ log: null }]);
  expect(await dispatcher.stop()).toBe(0);
});

// To erase a day may take ten minutes.
test('a dispatcher that is told to stop while it erases a deleted account ends at once, and leaves the rest to the next', async () => {
  await using world = await openWorld();
  await world.pool.query(
    `INSERT INTO events (key, guid, source, event_id, type, account_id, occurred_at, hook_ids, delivery_ids)
     VALUES (gen_random_uuid(), gen_random_uuid(), 'urn:old', 'x', 'push', 77, now(), '{}', '{}')`,
  );
  await world.pool.query('INSERT INTO erasures (account_id) VALUES (77)');
  using held = new DisposableStack();
  const holder = held.adopt(await world.pool.connect(), (client) => client.release(true));
  await holder.query('BEGIN; SELECT FROM events WHERE account_id = 77 FOR UPDATE');
  const dispatcher = await world.start();
  await until('it erases', async () => {
    const { rows } = await world.pool.query(
      "SELECT FROM pg_stat_activity WHERE query LIKE 'DELETE FROM events%' AND wait_event_type = 'Lock' AND datname = current_database()",
    );
    return rows.length === 1;
  });
  expect(await dispatcher.stop()).toBe(0);
  expect((await world.pool.query('SELECT FROM erasures')).rowCount).toBe(1);
});

// What it records holds the URL, the headers and the answer, and PostgreSQL is given back an event that it does not have.
test('an attempt that was in flight when its account was deleted and erased is erased with the next pass', async () => {
  await using world = await openWorld();
  let answer = () => {};
  const after = new Promise<void>((resolve) => {
    answer = resolve;
  });
  await using receiver = await openReceiver({ behave: { after } });
  const accountId = await world.addAccount('acme', ['widgets']);
  await world.addHook('acme', { url: receiver.url });
  const env = { DELIVERY_TIMEOUT_MS: '300000' };
  const attempting = await world.start(env);
  const guid = await world.publish({});
  await until('the attempt', () => receiver.received.length === 1);
  await world.pool.query('INSERT INTO erasures (account_id) VALUES ($1)', [accountId]);
  await world.pool.query('DELETE FROM accounts');
  const left = async () => {
    const { rows } = await world.pool.query(
      `SELECT (SELECT count(*)::integer FROM events WHERE account_id = $1) AS events,
              (SELECT count(*)::integer FROM deliveries WHERE account_id = $1) AS deliveries,
              (SELECT count(*)::integer FROM delivery_stats WHERE account_id = $1) AS stats,
              (SELECT count(*)::integer FROM erasures) AS erasures`,
      [accountId],
    );
    return rows[0];
  };
  const erased = async () => {
    const dispatcher = await world.start(env);
    await until('a pass', () => dispatcher.log.some(({ message }) => /^erased the events/.test(String(message))));
    await dispatcher.stop();
  };
  await erased();
  expect(await left()).toEqual({ events: 0, deliveries: 0, stats: 0, erasures: 1 });
  answer();
  await world.deliveries(guid);
  await attempting.stop();
  await world.pool.query("UPDATE erasures SET asked_at = asked_at - interval '1 hour'");
  await erased();
  expect(await left()).toEqual({ events: 0, deliveries: 0, stats: 0, erasures: 0 });
});
