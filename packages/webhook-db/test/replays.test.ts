import { inTransaction } from '@gatepost/runtime/transaction';
import { freshDatabase } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { expect, test } from '@jest/globals';
import { openPool } from '../src/pool.ts';
import { findNext, handOverNext, lockReplay } from '../src/replays.ts';

// It ended as done otherwise, and the outcomes were counted once more: 4 of 3.
test('who gets a replay just after another has handed over its last deliveries knows that they have no outcome yet', async () => {
  await using database = await freshDatabase('migrated');
  await using stack = new AsyncDisposableStack();
  const pool = openPool({ databaseUrl: database.url, name: 'test', max: 4, onError: () => {} });
  stack.defer(() => pool.end());
  await pool.query("INSERT INTO accounts (login) VALUES ('acme')");
  await pool.query(
    `INSERT INTO hooks (account_id, url, content_type, events, created_by) VALUES (1, 'http://127.0.0.2/', 'json', '{push}', 'test')`,
  );
  const { rows } = await pool.query<{ id: string }>(
    `INSERT INTO replays (hook_id, account_id, asked, asked_by, since, until, status, state, counted)
     VALUES (1, 1, '{}', 'test', now(), now(), 'all', 'running', 1) RETURNING id`,
  );
  const { id } = rows[0]!;
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
