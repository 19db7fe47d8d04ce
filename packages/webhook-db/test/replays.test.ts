import { inTransaction } from '@gatepost/runtime/transaction';
import { freshDatabase } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { expect, test } from '@jest/globals';
import { openPool } from '../src/pool.ts';
import { countNext, findNext, handOverNext, lockReplay } from '../src/replays.ts';

/** A database with a hook, and a replay to it of all deliveries that begin within a minute. */
async function openReplay(stack: AsyncDisposableStack) {
  const database = stack.use(await freshDatabase('migrated'));
  const pool = openPool({ databaseUrl: database.url, name: 'test', max: 4, onError: () => {} });
  stack.defer(() => pool.end());
  await pool.query("INSERT INTO accounts (login) VALUES ('acme')");
  await pool.query(
    `INSERT INTO hooks (account_id, url, content_type, events, created_by) VALUES (1, 'http://127.0.0.2/', 'json', '{push}', 'test')`,
  );
  const { rows } = await pool.query<{ id: string }>(
    `INSERT INTO replays (hook_id, account_id, asked, asked_by, since, until, status, state, counted)
     VALUES (1, 1, '{}', 'test', now() - interval '1 minute', now() + interval '1 minute', 'all', 'running', 1) RETURNING id`,
  );
  return { pool, id: rows[0]!.id };
}

// It was sent again, and so the push twice.
test('a replay leaves out a test of the latest push, which has the event of that push and a guid of its own', async () => {
  await using stack = new AsyncDisposableStack();
  const { pool, id } = await openReplay(stack);
  const { rows: events } = await pool.query<{ key: string; guid: string; received_on: string }>(
    `INSERT INTO events (key, guid, source, event_id, type, account_id, occurred_at, payload, hook_ids, delivery_ids)
     VALUES (gen_random_uuid(), gen_random_uuid(), 'urn:test', 'x', 'push', 1, now(), '{}', '{1}', ARRAY[nextval('delivery_ids')])
     RETURNING key, guid, received_on::text`,
  );
  const { key, guid, received_on: day } = events[0]!;
  for (const own of [guid, '00000000-0000-4000-8000-000000000001'])
    await pool.query(
      `INSERT INTO deliveries (id, delivered_on, delivered_at, hook_id, account_id, guid, event_key, event_on, event, attempt, redelivery,
                               status, status_code, duration_ms, timings, url, request_headers)
       VALUES (nextval('delivery_ids'), (now() AT TIME ZONE 'UTC')::date, now(), 1, 1, $1, $2, $3, 'push', 1, false,
               'Timed out', 504, 1, '{}', 'http://127.0.0.2/', '{}')`,
      [own, key, day],
    );
  await inTransaction(pool, async (client) => {
    const replay = (await lockReplay(client, id))!;
    for (const status of ['all', 'failure'] as const) {
      const asked = { ...replay, status };
      expect((await findNext(client, asked, 10)).found.map((row) => row.guid)).toEqual([guid]);
      expect((await countNext(client, asked)).count).toBe(1);
    }
  });
});

// It ended as done otherwise, and the outcomes were counted once more: 4 of 3.
test('who gets a replay just after another has handed over its last deliveries knows that they have no outcome yet', async () => {
  await using stack = new AsyncDisposableStack();
  const { pool, id } = await openReplay(stack);
  // Whoever reads the hook waits here, between the beginning of the statement and its lock, while the gate is closed.
  await pool.query(`
    ALTER TABLE hooks RENAME TO hooks_stored;
    CREATE FUNCTION pass() RETURNS boolean LANGUAGE sql VOLATILE
      AS 'SELECT pg_advisory_lock_shared(7); SELECT pg_advisory_unlock_shared(7)';
    CREATE VIEW hooks AS SELECT * FROM hooks_stored WHERE pass()`);
  const gate = stack.adopt(await pool.connect(), (client) => client.release(true));
  const lookNext = () =>
    inTransaction(pool, async (client) => {
      const replay = (await lockReplay(client, id))!;
      const { found, isEnd } = await findNext(client, replay, 10);
      return { waiting: replay.waiting, after: replay.after_id, found, isEnd };
    });

  let looking: ReturnType<typeof lookNext> | undefined;
  await inTransaction(pool, async (client) => {
    const replay = (await lockReplay(client, id))!;
    expect(replay.waiting).toBe(0);
    await gate.query('SELECT pg_advisory_lock(7)');
    looking = lookNext();
    await until('another has begun', async () => {
      const { rowCount } = await gate.query(
        "SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 7 AND NOT granted",
      );
      return rowCount === 1;
    });
    const job = { eventKey: '00000000-0000-4000-8000-000000000001', eventOn: new Date().toISOString().slice(0, 10) };
    const to = { after_id: '50', after_at: '-infinity', after_key: '00000000-0000-0000-0000-000000000000' };
    await handOverNext(client, replay, [job], to, 1_000);
  });
  await gate.query('SELECT pg_advisory_unlock(7)');
  expect(await looking).toEqual({ waiting: 1, after: '50', found: [], isEnd: true });
});
