/** What looks for lost deliveries goes on, whatever rests. */
import { openLog } from '@gatepost/runtime/log';
import { openCuttable } from '@gatepost/testkit/cut';
import { freshDatabase } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { migrateWebhooks } from '@gatepost/webhook-db/migrations';
import { openPool, type Pool } from '@gatepost/webhook-db/pool';
import { expect, jest, test } from '@jest/globals';
import { openRescue } from '../src/parked/rescue.ts';

// To look through millions that rest may take longer than a statement may.
test('an account whose paused deliveries cannot be released keeps neither lost deliveries from being found nor another account from resuming', async () => {
  await using database = await freshDatabase();
  await migrateWebhooks(database.url);
  const pool = openPool({ databaseUrl: database.url, name: 'test', max: 4, byIndexOnly: true, onError: () => {} });
  const park = async (accountId: number, publishedAt: string) => {
    const { rows } = await pool.query<{ id: string }>(
      `INSERT INTO parked (delivery_id, account_id, reason, due_at, published_at, event_key, event_on, job)
       VALUES (nextval('delivery_ids'), $1, 'throttle', 'infinity', $2, gen_random_uuid(), now(), '{"hookId":1}') RETURNING delivery_id AS id`,
      [accountId, publishedAt],
    );
    return rows[0]!.id;
  };
  await pool.query(`
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$;
    CREATE TRIGGER refuse BEFORE UPDATE ON parked FOR EACH ROW WHEN (OLD.account_id = 1) EXECUTE FUNCTION refuse()`);
  const stuck = await park(1, 'infinity');
  const forgotten = await park(2, 'infinity');
  const lost = await park(3, '2020-01-01');
  await pool.query('INSERT INTO sweeps (id, swept_until) VALUES (1, now())');
  await pool.query("INSERT INTO accounts (login, paused_at) VALUES ('x', null), ('y', null), ('z', now())");
  const paused = await park(3, 'infinity');
  const resting = async () => {
    const { rows } = await pool.query('SELECT delivery_id AS id FROM parked WHERE published_at IS NOT NULL ORDER BY 1');
    return rows.map(({ id }) => id);
  };
  const log = openLog('test', 'silent');
  await using rescue = openRescue({ pool, jobsWaiting: async () => 0, afterMs: 1_000, log });
  await until('lost ones are found, and what was forgotten is let go', async () => {
    const left = await resting();
    return !left.includes(lost) && !left.includes(forgotten);
  });
  expect(await resting()).toEqual([stuck, paused]);
  await rescue[Symbol.asyncDispose]();
  await pool.end();
});

test('lost deliveries are found among any number of events, and no event is read more than a few times', async () => {
  await using database = await freshDatabase();
  await migrateWebhooks(database.url);
  const open = () =>
    openPool({ databaseUrl: database.url, name: 'test', max: 4, byIndexOnly: true, onError: () => {} });
  const pool = open();
  await pool.query("INSERT INTO accounts (login) VALUES ('acme')");
  await pool.query(
    `INSERT INTO hooks (account_id, url, content_type, events, created_by) VALUES (1, 'http://127.0.0.2/', 'json', '{push}', 'test')`,
  );
  // One in ten seconds, every tenth to no hook, then 500 in one moment. What came of three is not known.
  const events = 7_000;
  const lost = [1, 3_999, 6_998];
  await pool.query(
    `WITH e AS (
       INSERT INTO events (key, guid, source, event_id, type, account_id, occurred_at, received_at, received_on, hook_ids, delivery_ids, routed_at)
       SELECT gen_random_uuid(), gen_random_uuid(), 'urn:test', n, 'push', 1, at, at, (at AT TIME ZONE 'UTC')::date,
              CASE WHEN n % 10 = 0 THEN '{}' ELSE ARRAY[1] END, CASE WHEN n % 10 = 0 THEN '{}' ELSE ARRAY[n] END, at
         FROM generate_series(1, $1::int) n, LATERAL (SELECT now() - interval '20 hours' + least(n, 6500) * interval '10 s' AS at) t
       RETURNING *)
     INSERT INTO deliveries (id, delivered_on, delivered_at, hook_id, account_id, guid, event_key, event_on, event, attempt, redelivery, status,
                             status_code, duration_ms, timings, url, request_headers)
     SELECT id, received_on, received_at, 1, 1, guid, key, received_on, type, 1, false, 'OK', 200, 1, '{}', 'http://127.0.0.2/', '{}'
       FROM e, unnest(delivery_ids) id WHERE id <> ALL ($2::int[])`,
    [events, lost],
  );
  await pool.query('ANALYZE');
  const rescue = openRescue({ pool, jobsWaiting: async () => 0, afterMs: 1_000, log: openLog('test', 'silent') });
  await lookedThrough(pool);
  await rescue[Symbol.asyncDispose]();
  const { rows: parked } = await pool.query('SELECT delivery_id::integer AS id FROM parked ORDER BY 1');
  expect(parked.map(({ id }) => id)).toEqual(lost);
  await pool.end(); // connections say what they have read as they end
  const later = open();
  expect(await rowsReadOf(later, events)).toBeLessThan(4 * events);
  await later.end();
});

// Its statement may not take longer than 15 s, and would be tried again and again.
test('events with many hooks are searched in smaller steps, and each event is read once', async () => {
  await using database = await freshDatabase('migrated');
  const open = () =>
    openPool({ databaseUrl: database.url, name: 'test', max: 4, byIndexOnly: true, onError: () => {} });
  const pool = open();
  const events = 1_000;
  await pool.query(
    `INSERT INTO events (key, guid, source, event_id, type, occurred_at, received_at, received_on, hook_ids, delivery_ids, routed_at)
     SELECT gen_random_uuid(), gen_random_uuid(), 'urn:test', n, 'push', at, at, (at AT TIME ZONE 'UTC')::date,
            ARRAY(SELECT generate_series(1, 250)), ARRAY(SELECT generate_series(1, 250)), at
       FROM generate_series(1, $1::int) n, LATERAL (SELECT now() - interval '1 hour' + n * interval '1 s' AS at) t`,
    [events],
  );
  await pool.query('ANALYZE');
  let pieces = 0;
  const jobsWaiting = async () => {
    pieces += 1;
    return 0;
  };
  const rescue = openRescue({ pool, jobsWaiting, afterMs: 1_000, log: openLog('test', 'silent') });
  await lookedThrough(pool);
  await rescue[Symbol.asyncDispose]();
  expect(pieces).toBeGreaterThanOrEqual(Math.floor((events * 250) / 20_000));
  await pool.end();
  const later = open();
  expect(await rowsReadOf(later, events)).toBeLessThan(4 * events);
  await later.end();
});

test('in a backup of last week lost deliveries are found, as far back as the log is kept', async () => {
  await using database = await freshDatabase('migrated');
  const pool = openPool({ databaseUrl: database.url, name: 'test', max: 4, byIndexOnly: true, onError: () => {} });
  await pool.query("INSERT INTO accounts (login) VALUES ('acme')");
  await pool.query(
    `INSERT INTO hooks (account_id, url, content_type, events, created_by) VALUES (1, 'http://127.0.0.2/', 'json', '{push}', 'test')`,
  );
  await pool.query(`
    INSERT INTO sweeps (id, swept_until) VALUES (1, now() - interval '8 days');
    DO $$ DECLARE day date := ((now() - interval '7 days') AT TIME ZONE 'UTC')::date; BEGIN
      EXECUTE format('CREATE TABLE deliveries_%s PARTITION OF deliveries FOR VALUES FROM (%L) TO (%L)', to_char(day, 'YYYYMMDD'), day, day + 1);
      EXECUTE format('CREATE TABLE events_%s PARTITION OF events FOR VALUES FROM (%L) TO (%L)', to_char(day, 'YYYYMMDD'), day, day + 1);
    END $$`);
  await pool.query(
    `INSERT INTO events (key, guid, source, event_id, type, account_id, occurred_at, received_at, received_on, hook_ids, delivery_ids, routed_at)
     SELECT gen_random_uuid(), gen_random_uuid(), 'urn:test', 1, 'push', 1, at, at, (at AT TIME ZONE 'UTC')::date, '{1}', '{1}', at
       FROM (SELECT now() - interval '7 days' AS at) t`,
  );
  await using rescue = openRescue({ pool, jobsWaiting: async () => 0, afterMs: 1_000, log: openLog('test', 'silent') });
  await lookedThrough(pool);
  await rescue[Symbol.asyncDispose]();
  const { rows } = await pool.query('SELECT delivery_id::integer AS id FROM parked');
  expect(rows).toEqual([{ id: 1 }]);
  await pool.end();
});

// Events of a day are kept while deliveries of them rest, the log of it is not.
test('a delivery whose day has been dropped from the log is not taken for lost', async () => {
  await using database = await freshDatabase('migrated');
  const pool = openPool({ databaseUrl: database.url, name: 'test', max: 4, byIndexOnly: true, onError: () => {} });
  await pool.query("INSERT INTO accounts (login) VALUES ('acme')");
  await pool.query(
    `INSERT INTO hooks (account_id, url, content_type, events, created_by) VALUES (1, 'http://127.0.0.2/', 'json', '{push}', 'test')`,
  );
  await pool.query("INSERT INTO sweeps (id, swept_until) VALUES (1, now() - interval '47 hours')");
  await pool.query(`
    DO $$ DECLARE day date := ((now() - interval '46 hours') AT TIME ZONE 'UTC')::date; BEGIN
      EXECUTE format('DROP TABLE IF EXISTS deliveries_%1$s, events_%1$s', to_char(day, 'YYYYMMDD'));
      EXECUTE format('CREATE TABLE events_%s PARTITION OF events FOR VALUES FROM (%L) TO (%L)', to_char(day, 'YYYYMMDD'), day, day + 1);
    END $$`);
  await pool.query(
    `INSERT INTO events (key, guid, source, event_id, type, account_id, occurred_at, received_at, received_on, hook_ids, delivery_ids, routed_at)
     SELECT gen_random_uuid(), gen_random_uuid(), 'urn:test', n, 'push', 1, at, at, (at AT TIME ZONE 'UTC')::date, '{1}', ARRAY[n], at
       FROM unnest(ARRAY[1, 2]) n, LATERAL (SELECT now() - CASE n WHEN 1 THEN interval '46 hours' ELSE interval '1 minute' END AS at) t`,
  );
  await using rescue = openRescue({ pool, jobsWaiting: async () => 0, afterMs: 1_000, log: openLog('test', 'silent') });
  const parked = await until('a lost one is found', async () => {
    const { rows } = await pool.query<{ id: number }>('SELECT delivery_id::integer AS id FROM parked ORDER BY 1');
    return rows.length > 0 && rows.map(({ id }) => id);
  });
  expect(parked).toEqual([2]);
  await rescue[Symbol.asyncDispose]();
  await pool.end();
});

// Dispatchers try again to record every other second: what they had made was sent again.
test('after an outage of PostgreSQL there is time to record attempts that were made before deliveries count as lost', async () => {
  await using database = await freshDatabase('migrated');
  await using cuttable = await openCuttable(database.url);
  const admin = openPool({ databaseUrl: database.url, name: 'admin', max: 1, byIndexOnly: true, onError: () => {} });
  const pool = openPool({ databaseUrl: cuttable.url, name: 'test', max: 1, byIndexOnly: true, onError: () => {} });
  await admin.query("INSERT INTO accounts (login) VALUES ('acme')");
  await admin.query(
    `INSERT INTO hooks (account_id, url, content_type, events, created_by) VALUES (1, 'http://127.0.0.2/', 'json', '{push}', 'test')`,
  );
  await admin.query(
    `INSERT INTO events (key, guid, source, event_id, type, account_id, occurred_at, received_at, received_on, hook_ids, delivery_ids, routed_at)
     SELECT gen_random_uuid(), gen_random_uuid(), 'urn:test', n, 'push', 1, at, at, (at AT TIME ZONE 'UTC')::date, '{1}', ARRAY[n], at
       FROM unnest(ARRAY[1, 2]) n, LATERAL (SELECT now() - interval '10 minutes' AS at) t`,
  );
  const parked = async () => {
    const { rows } = await admin.query<{ id: number }>('SELECT delivery_id::integer AS id FROM parked ORDER BY 1');
    return rows.map(({ id }) => id);
  };
  const lines: unknown[] = [];
  const log = { ...openLog('test', 'silent'), warn: (_fields: object, line: string) => lines.push(line) } as never;
  const timer = jest.spyOn(globalThis, 'setInterval');
  const rescue = openRescue({ pool, jobsWaiting: async () => 0, afterMs: 300_000, log });
  const [look] = timer.mock.lastCall!;
  timer.mockRestore();
  await cuttable.cut();
  look();
  await until('a look during the outage', () => lines.length === 1);
  await cuttable.restore();
  look();
  await until('a look after it', async () => {
    const { rows } = await admin.query(
      "SELECT FROM pg_stat_activity WHERE application_name = 'test' AND state = 'idle' AND query IN ('SHOW transaction_read_only', 'COMMIT') AND datname = current_database()",
    );
    return rows.length === 1;
  });
  expect(await parked()).toEqual([]);
  await admin.query(
    `INSERT INTO deliveries (id, delivered_on, delivered_at, hook_id, account_id, guid, event_key, event_on, event, attempt, redelivery, status,
                             status_code, duration_ms, timings, url, request_headers)
     SELECT 1, received_on, received_at, 1, 1, guid, key, received_on, type, 1, false, 'OK', 200, 1, '{}', 'http://127.0.0.2/', '{}'
       FROM events WHERE delivery_ids = '{1}'`,
  );
  look();
  await until('the lost one is found', async () => (await parked()).length > 0);
  expect(await parked()).toEqual([2]);
  await rescue[Symbol.asyncDispose]();
  await pool.end();
  await admin.end();
});

/** Until the rescue has looked through all that there is. */
const lookedThrough = (pool: Pool) =>
  until('all of them are looked through', async () => {
    const { rows } = await pool.query("SELECT FROM sweeps WHERE swept_until > now() - interval '1 minute'");
    return rows.length === 1;
  });

/** How many rows of events were read, once PostgreSQL knows of `least`. */
const rowsReadOf = (pool: Pool, least: number) =>
  until('what was read is known', async () => {
    const { rows } = await pool.query<{ read: number }>(
      "SELECT sum(seq_tup_read + idx_tup_fetch)::integer AS read FROM pg_stat_user_tables WHERE relname LIKE 'events_%'",
    );
    const { read } = rows[0]!;
    return read >= least && read;
  });
