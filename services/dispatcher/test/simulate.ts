/**
 * Many accounts in virtual time, through the code that admits, parks and releases deliveries: `makeAdmit`, the arithmetic of the bucket, `park` and
 * `makeReleaseWaiting` on PostgreSQL. Only the clock, and where buckets are kept, are of this file. As a program: `npm run bench -- simulation`.
 */
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import { inTransaction } from '@gatepost/runtime/transaction';
import { migrateWebhooks } from '@gatepost/webhook-db/migrations';
import { openPool, type Pool } from '@gatepost/webhook-db/pool';
import type { Account } from '../src/accounts.ts';
import { makeAdmit } from '../src/limit/admit.ts';
import { type Bucket, type Limit, levelNow, momentsOf, roomFor } from '../src/limit/bucket.ts';
import type { Throttle } from '../src/limit/throttle.ts';
import type { Metrics } from '../src/metrics.ts';
import { park } from '../src/parked/park.ts';
import { makeReleaseWaiting } from '../src/parked/release.ts';

export type Simulated = {
  accounts: number;
  flooding: number;
  virtualSeconds: number;
  realSeconds: number;
  admitted: number;
  parked: number;
  released: number;
  /** Deliveries of accounts within their limit that had to wait. */
  calmDelayed: number;
  /** Of each flooding account how many went out: alike, where it is fair. */
  share: { least: number; median: number; most: number };
  /** Sends beyond rate × t + burst, of all accounts over the whole time. */
  beyondLimit: number;
  bytesPerBucket: number;
  rssMb: number;
};

const stepMs = 500;
const aheadMs = 400;
const marginMs = 100;
const atOnce = 250;

/** Accounts 1 to `flooding` offer three times their limit; each of the others a delivery every ten seconds. */
export async function simulate(
  pool: Pool,
  { accounts, flooding, seconds }: { accounts: number; flooding: number; seconds: number },
): Promise<Simulated> {
  const limit: Limit = { rate: 2, burst: 4 };
  await pool.query(
    `INSERT INTO accounts (login, throttle_rate, throttle_burst) SELECT 'account' || n, $2, $3 FROM generate_series(1, $1::integer) n`,
    [flooding, limit.rate, limit.burst],
  );
  let nowMs = 0;
  const heapBefore = process.memoryUsage().heapUsed;
  const buckets = new Map<number, Bucket>();
  const draw = (id: number, asked: Limit, count: number, ms: number) => {
    const level = levelNow(asked, buckets.get(id), nowMs);
    const drawn = Math.min(count, roomFor(asked, level, ms));
    if (drawn > 0) buckets.set(id, { level: level + drawn, atMs: nowMs });
    return momentsOf(asked, level, drawn, marginMs).map(() => ({}));
  };
  const throttle: Pick<Throttle, 'admit' | 'release' | 'releasable'> = {
    admit: async (id, asked, count) => draw(id, asked, count, 0),
    releasable: async (id, asked) => roomFor(asked, levelNow(asked, buckets.get(id), nowMs), aheadMs),
    release: async (id, asked, count) => draw(id, asked, count, aheadMs),
  };
  const metrics = { throttled() {} } as unknown as Metrics;
  const limitOf = () => limit;
  const admit = makeAdmit(throttle, limitOf, metrics);
  const release = makeReleaseWaiting({ pool, throttle, limitOf, metrics });
  const sent = new Uint32Array(accounts + 1);
  const waiting = new Uint32Array(accounts + 1);
  let [deliveryId, admitted, parked, released, calmDelayed] = [0, 0, 0, 0, 0];

  const offer = async (id: number, count: number) => {
    const firstId = deliveryId + 1;
    deliveryId += count;
    const jobs = Array.from({ length: count }, (_, index): DeliveryJob => jobOf(firstId + index, id));
    const { now, later } = await admit({ id, hooks: new Map() } as unknown as Account, waiting[id]! > 0, jobs);
    sent[id]! += now.length;
    admitted += now.length;
    waiting[id]! += later.length;
    if (id > flooding) calmDelayed += later.length;
    return later;
  };
  const releaseAll = async () => {
    for (let isMore = true; isMore; ) {
      const { rows, isMoreLeft } = await inTransaction(pool, (client) => release(client, atOnce));
      for (const { row } of rows) {
        sent[row.account_id]! += 1;
        waiting[row.account_id]! -= 1;
      }
      released += rows.length;
      isMore = isMoreLeft;
    }
  };
  const startedAt = performance.now();
  for (let step = 0; nowMs < seconds * 1000; step += 1, nowMs += stepMs) {
    const later = [];
    for (let id = 1; id <= flooding; id += 1) later.push(...(await offer(id, 3)));
    const every = 10_000 / stepMs;
    for (let id = flooding + 1 + (step % every); id <= accounts; id += every) later.push(...(await offer(id, 1)));
    for (let start = 0; start < later.length; start += 1_000) await park(pool, later.slice(start, start + 1_000));
    parked += later.length;
    await releaseAll();
  }
  const realSeconds = (performance.now() - startedAt) / 1000;
  const most = limit.rate * (seconds + aheadMs / 1000) + limit.burst;
  const shares = [...sent.subarray(1, flooding + 1)].sort((a, b) => a - b);
  return {
    accounts,
    flooding,
    virtualSeconds: seconds,
    realSeconds,
    admitted,
    parked,
    released,
    calmDelayed,
    share: { least: shares[0]!, median: shares[shares.length >> 1]!, most: shares.at(-1)! },
    beyondLimit: [...sent].reduce((sum, count) => sum + Math.max(0, count - most), 0),
    bytesPerBucket: Math.round((process.memoryUsage().heapUsed - heapBefore) / buckets.size),
    rssMb: Math.round(process.memoryUsage.rss() / 1e6),
  };
}

const jobOf = (deliveryId: number, accountId: number): DeliveryJob => ({
  deliveryId,
  guid: randomUUID(),
  hookId: accountId,
  event: 'push',
  action: null,
  eventKey: '00000000-0000-0000-0000-000000000000',
  eventOn: '2026-11-22',
  accountId,
  repositoryId: null,
  occurredAt: '2026-11-22T10:00:00.000Z',
  attempt: 1,
  redelivery: false,
  throttledAt: null,
  retries: true,
});

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [databaseUrl = '', accounts, flooding, seconds] = process.argv.slice(2);
  await migrateWebhooks(databaseUrl);
  const pool = openPool({ databaseUrl, name: 'simulation', max: 4, byIndexOnly: true, onError: () => {} });
  const asked = { accounts: Number(accounts), flooding: Number(flooding), seconds: Number(seconds) };
  console.log(JSON.stringify(await simulate(pool, asked)));
  await pool.end();
}
