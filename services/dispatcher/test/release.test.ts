/** What waits for its account's limit is released in its order, however many dispatchers do so. */
import { openLog } from '@gatepost/runtime/log';
import { openMetrics } from '@gatepost/runtime/metrics';
import { inTransaction } from '@gatepost/runtime/transaction';
import { freshDatabase, freshPrefix, redisUrl } from '@gatepost/testkit/stores';
import { migrateWebhooks } from '@gatepost/webhook-db/migrations';
import { openPool, type Pool } from '@gatepost/webhook-db/pool';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openThrottle, type Throttle } from '../src/limit/throttle.ts';
import { makeMetrics } from '../src/metrics.ts';
import { makeReleaseDue, makeReleaseWaiting } from '../src/parked/release.ts';

const stack = new AsyncDisposableStack();
let pool: Pool;
let throttle: Throttle;
const log = openLog('test', 'silent');
const metrics = makeMetrics({ routing: log, delivering: log }, openMetrics(), { note() {} });

beforeAll(async () => {
  const { url: databaseUrl } = stack.use(await freshDatabase());
  await migrateWebhooks(databaseUrl);
  pool = openPool({ databaseUrl, name: 'test', max: 8, byIndexOnly: true, onError: () => {} });
  stack.defer(() => pool.end());
  throttle = stack.use(
    await openThrottle({
      redisUrl: redisUrl(),
      prefix: freshPrefix(),
      countDispatchers: async () => 1,
      log,
      registry: openMetrics(),
    }),
  );
});
afterAll(() => stack.disposeAsync());

const addAccount = async (login: string, rate: number, burst: number) => {
  const { rows } = await pool.query<{ id: number }>(
    'INSERT INTO accounts (login, throttle_rate, throttle_burst) VALUES ($1, $2, $3) RETURNING id',
    [login, rate, burst],
  );
  return rows[0]!.id;
};
const park = async (accountId: number, count: number, reason = 'throttle', dueAt = 'infinity') => {
  const { rows } = await pool.query<{ delivery_id: string }>(
    `INSERT INTO parked (delivery_id, account_id, reason, due_at, event_key, event_on, job)
     SELECT nextval('delivery_ids'), $1, $3, $4, gen_random_uuid(), now(), '{"attempt":2,"throttledAt":null}'
       FROM generate_series(1, $2) RETURNING delivery_id`,
    [accountId, count, reason, dueAt],
  );
  return rows.map((row) => Number(row.delivery_id));
};
const parts = () => ({
  pool,
  throttle,
  limitOf: ({ throttle: own }: { throttle: { rate: number | null; burst: number | null } }) => ({
    rate: own.rate ?? 100,
    burst: own.burst ?? 100,
  }),
  metrics,
});
const waiting = async (accountId: number) => {
  const { rows } = await pool.query(
    "SELECT delivery_id::int AS id, reason, job FROM parked WHERE account_id = $1 AND published_at IS NULL AND due_at = 'infinity' ORDER BY 1",
    [accountId],
  );
  return rows as { id: number; reason: string; job: string }[];
};

test('several dispatchers that release deliveries at once keep the order of each account, and serve every account', async () => {
  const accounts = await Promise.all([0, 1, 2].map((index) => addAccount(`several-${index}`, 400, 5)));
  const parked = await Promise.all(accounts.map((id) => park(id, 60)));
  const released: { id: number; accountId: number }[] = [];
  const work = async () => {
    const release = makeReleaseWaiting(parts());
    while (released.length < 180)
      await inTransaction(pool, async (client) => {
        const { rows } = await release(client, 20);
        released.push(...rows.map(({ row }) => ({ id: Number(row.delivery_id), accountId: row.account_id })));
      });
  };
  await Promise.all([work(), work(), work()]);
  for (const [index, id] of accounts.entries())
    expect(released.filter((one) => one.accountId === id).map((one) => one.id)).toEqual(parked[index]);
});

test('first deliveries go before retries, and deliveries that found their receiver busy come last', async () => {
  const id = await addAccount('orders', 0.001, 5);
  const busy = await park(id, 1, 'busy');
  const retries = await park(id, 2, 'retry');
  const first = await park(id, 3);
  const release = makeReleaseWaiting(parts());
  const { rows } = await inTransaction(pool, (client) => release(client, 20));
  expect(rows.map(({ row }) => Number(row.delivery_id))).toEqual([...first, ...retries]);
  expect((await waiting(id)).map((row) => row.id)).toEqual(busy);
});

test('a due retry asks the limit, which keeps half the burst for first deliveries; over it, the retry waits and is marked as throttled', async () => {
  const id = await addAccount('retrying', 0.001, 7);
  const due = await park(id, 5, 'retry', '2026-01-01');
  const release = makeReleaseDue(parts());
  const { rows } = await inTransaction(pool, (client) => release(client, 20));
  expect(rows.map(({ row }) => Number(row.delivery_id))).toEqual(due.slice(0, 3));
  const left = await waiting(id);
  expect(left.map((row) => row.id)).toEqual(due.slice(3));
  for (const { reason, job } of left) {
    expect(reason).toBe('retry');
    expect(JSON.parse(job).throttledAt).toMatch(/^20\d\d-/);
  }
  expect(await throttle.admit(id, { rate: 0.001, burst: 7 }, 10)).toHaveLength(3);
  const releaseWaiting = makeReleaseWaiting(parts());
  expect((await inTransaction(pool, (client) => releaseWaiting(client, 20))).rows).toEqual([]);
});
