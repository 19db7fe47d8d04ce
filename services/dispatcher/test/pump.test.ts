/** What waits and may continue is published, each delivery once. */
import { openLog } from '@gatepost/runtime/log';
import { openMetrics } from '@gatepost/runtime/metrics';
import { freshDatabase } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { migrateWebhooks } from '@gatepost/webhook-db/migrations';
import { claimDue } from '@gatepost/webhook-db/parked';
import { openPool } from '@gatepost/webhook-db/pool';
import { expect, test } from '@jest/globals';
import { makeMetrics } from '../src/metrics.ts';
import { openPump } from '../src/parked/pump.ts';
import { type Enqueue, Unconfirmed } from '../src/routing/enqueue.ts';

/** A pump over these many deliveries that are due. */
async function openDue(count: number, enqueue: Enqueue) {
  const stack = new AsyncDisposableStack();
  const { url: databaseUrl } = stack.use(await freshDatabase());
  await migrateWebhooks(databaseUrl);
  const pool = openPool({ databaseUrl, name: 'test', max: 3, byIndexOnly: true, onError: () => {} });
  stack.defer(() => pool.end());
  const log = openLog('test', 'silent');
  const metrics = makeMetrics({ routing: log, delivering: log }, openMetrics(), { note() {} });
  await pool.query(
    `INSERT INTO parked (delivery_id, account_id, reason, due_at, event_key, event_on, job)
     SELECT n, 1, 'retry', now() - interval '1 s', gen_random_uuid(), now(), '{"attempt":2}' FROM generate_series(1, $1) n`,
    [count],
  );
  stack.use(
    openPump({
      pool,
      enqueue,
      metrics,
      log,
      publisher: { publish: async () => {} } as never,
      releaseWaiting: async () => ({ rows: [], isMoreLeft: false }),
      releaseDue: async (client, most) => {
        const rows = await claimDue(client, most, 1_000);
        return { rows: rows.map((row) => ({ row, grant: {} })), isMoreLeft: false };
      },
      jobsWaiting: async () => 0,
      isBehind: () => false,
      hasRoom: () => true,
      workCounts: { events: 0, jobs: 0, pumped: 0, parked: 0, recorded: 0 },
    }),
  );
  return {
    waiting: async () => (await pool.query('SELECT FROM parked WHERE published_at IS NULL')).rowCount,
    /** Resolves to whether its published row could be deleted. */
    record: async (id: number) => {
      const free =
        'SELECT delivery_id FROM parked WHERE delivery_id = $1 AND published_at IS NOT NULL FOR UPDATE SKIP LOCKED';
      return (await pool.query(`DELETE FROM parked WHERE delivery_id IN (${free})`, [id])).rowCount === 1;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

// All of the batch waited again, also what the broker had confirmed, and was published a second time as if it were the first.
test('when the broker does not confirm one of several deliveries, only that one is published again, as one that may be a repetition', async () => {
  const published: { id: number; mayRepeat: boolean }[][] = [];
  await using due = await openDue(3, async (jobs) => {
    published.push(jobs.map(({ job }) => ({ id: job.deliveryId, mayRepeat: job.mayRepeat === true })));
    if (published.length === 1) throw new Unconfirmed(jobs.slice(1, 2), new Error('nack'));
  });
  await until('everything is published', async () => published.length >= 2 && (await due.waiting()) === 0);
  expect(published).toEqual([[1, 2, 3].map((id) => ({ id, mayRepeat: false })), [{ id: 2, mayRepeat: true }]]);
});

// PostgreSQL ended the transaction after 15 s, so that the deliveries waited again. Until then outcomes of theirs could not be recorded.
test('what was written when an alarm of the broker begins is published once, and what the broker has of it is recorded meanwhile', async () => {
  const published: number[] = [];
  const alarm = Promise.withResolvers<void>();
  await using due = await openDue(2, async (jobs) => {
    published.push(...jobs.map(({ job }) => job.deliveryId));
    await alarm.promise;
  });
  await until('an outcome is recorded', () => due.record(1));
  alarm.resolve();
  await until('none waits', async () => (await due.waiting()) === 0);
  expect(published).toEqual([1, 2]);
});
