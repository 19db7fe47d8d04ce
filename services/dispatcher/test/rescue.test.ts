/** What looks for lost deliveries goes on, whatever rests. */
import { openLog } from '@gatepost/runtime/log';
import { freshDatabase } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { migrateWebhooks } from '@gatepost/webhook-db/migrations';
import { openPool } from '@gatepost/webhook-db/pool';
import { expect, test } from '@jest/globals';
import { openRescue } from '../src/parked/rescue.ts';

// To look through millions that rest may take longer than a statement may.
test('while what rests of an account cannot be let go, lost deliveries are found, and what rests of another account is let go', async () => {
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
