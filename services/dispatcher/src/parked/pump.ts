/** Brings parked deliveries back: those the limit lets go and those that are due become jobs again, published with confirm. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Publisher } from '@gatepost/amqp/publisher';
import { type DeliveryJob, jobHeader } from '@gatepost/contracts/delivery-job';
import type { Log } from '@gatepost/runtime/log';
import { troubleOf } from '@gatepost/runtime/store-errors';
import { inTransaction } from '@gatepost/runtime/transaction';
import { hasDueTime, waits } from '@gatepost/webhook-db/backlog';
import { unclaim, unpark } from '@gatepost/webhook-db/parked';
import type { Pool } from '@gatepost/webhook-db/pool';
import type { PoolClient } from 'pg';
import { granted } from '../limit/admit.ts';
import type { Metrics } from '../metrics.ts';
import { type Enqueue, type Outgoing, Unconfirmed } from '../routing/enqueue.ts';
import { publishDeadLetter } from '../settling/dead-letter.ts';
import { deadReasonOf } from '../settling/trouble.ts';
import type { WorkCounts } from '../work-counts.ts';
import type { Release, ReleasedRow } from './release.ts';

const idleMs = 100;
const failedMs = 500;

const batchMax = 250;
/** With this many jobs in the queue nothing is added: a lifted limit must not put a million jobs ahead of everybody else's. */
const jobsWaitingMax = 200;
const fullMs = 25;
/** A hanging dispatcher keeps its locks for no longer than this. */
const settings = 'SET LOCAL idle_in_transaction_session_timeout = 15000';
/** Confirms that take longer, as in an alarm of the broker, are awaited without the transaction. */
const lateMs = 5_000;

type Pumping = {
  pool: Pool;
  enqueue: Enqueue;
  publisher: Publisher;
  metrics: Metrics;
};

/**
 * Runs until disposed. A batch is claimed, published and committed in one transaction: if we die in between, its rows wait again, and a job
 * may be published twice, with one delivery id. Rows that RabbitMQ did not confirm wait again, alone. `jobsWaiting` tells how many jobs RabbitMQ has ready, `isBehind` whether the jobs we took
 * cannot start, `hasRoom` whether due deliveries, which are less urgent, may be taken.
 */
export function openPump(
  options: Pumping & {
    releaseWaiting: Release;
    releaseDue: Release;
    jobsWaiting: () => Promise<number>;
    isBehind: () => boolean;
    hasRoom: () => boolean;
    workCounts: WorkCounts;
    log: Log;
  },
): AsyncDisposable {
  const stop = new AbortController();
  const waiting = makeBatch(options, options.releaseWaiting);
  const due = makeBatch(options, options.releaseDue);
  const pumpOnce = async (): Promise<number> => {
    if (options.isBehind() || (await options.jobsWaiting()) > jobsWaitingMax) return fullMs;
    const { rows } = await options.pool.query<{ some_wait: boolean; some_are_due: boolean }>(look);
    const { some_wait, some_are_due } = rows[0]!;
    const isMoreWaiting = some_wait && (await waiting());
    const isMoreDue = some_are_due && options.hasRoom() && (await due());
    return isMoreWaiting || isMoreDue ? 0 : idleMs;
  };
  const pumping = (async () => {
    while (!stop.signal.aborted) {
      let pauseMs = failedMs;
      try {
        pauseMs = await pumpOnce();
        options.workCounts.pumped += 1;
      } catch (error) {
        options.log.warn({ error }, 'could not bring parked deliveries back, trying again');
      }
      if (pauseMs > 0)
        await wait(pauseMs * (0.75 + Math.random() / 2), undefined, { signal: stop.signal }).catch(() => {
          // disposed: the loop ends
        });
    }
  })();
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await pumping;
    },
  };
}

// Usually nothing waits, and this avoids a transaction.
const look = {
  name: 'look for parked',
  text: `SELECT EXISTS (SELECT FROM parked WHERE ${waits}) AS some_wait,
                EXISTS (SELECT FROM parked WHERE ${hasDueTime} AND due_at <= now()) AS some_are_due`,
};

/** Releases and publishes a batch, and answers whether more may go at once. */
function makeBatch(options: Pumping, release: Release): () => Promise<boolean> {
  // Halved after an unexplained failure, until the row at fault is alone and the rest can go on.
  let most = batchMax;
  const publishReleased = async (client: PoolClient): Promise<Published> => {
    const { rows, isMoreLeft } = await release(client, most);
    const publishing = publish(options.enqueue, rows);
    if (await isLate(publishing)) return { isMoreLeft, late: publishing };
    try {
      await publishing;
    } catch (error) {
      if (most === 1 && troubleOf(error) !== 'away') await bury(options, client, rows[0]!, error);
      else if (error instanceof Unconfirmed) {
        await unclaimUnconfirmed(client, error);
        return { isMoreLeft, failure: error };
      } else throw error;
    }
    return { isMoreLeft };
  };
  return async () => {
    try {
      const { isMoreLeft, failure, late } = await inTransaction(options.pool, publishReleased, settings);
      if (failure !== undefined) throw failure;
      await late?.catch(async (error) => {
        if (error instanceof Unconfirmed) await unclaimUnconfirmed(options.pool, error);
        throw error;
      });
      most = Math.min(batchMax, most * 2);
      return isMoreLeft;
    } catch (error) {
      if (troubleOf(error) !== 'away') most = Math.max(1, most >> 1);
      throw error;
    }
  };
}

/** `late`: not settled yet. Those of its jobs that the broker has are delivered meanwhile, and their outcomes delete the claimed rows. */
type Published = { isMoreLeft: boolean; failure?: unknown; late?: Promise<void> };

async function isLate(publishing: Promise<void>): Promise<boolean> {
  const timer = new AbortController();
  const late = wait(lateMs, true, { signal: timer.signal }).catch(() => false);
  const settled = publishing.then(
    () => false,
    () => false,
  );
  return Promise.race([settled, late]).finally(() => timer.abort());
}

/** Those that are confirmed stay published: undoing their claim would publish them again. */
const unclaimUnconfirmed = (db: Pool | PoolClient, { jobs }: Unconfirmed) =>
  unclaim(
    db,
    jobs.map(({ job }) => job.deliveryId),
  );

/** A row that cannot be published even alone becomes a dead letter; otherwise it would lead every batch. */
async function bury({ publisher, metrics }: Pumping, client: PoolClient, { row }: ReleasedRow, error: unknown) {
  const { reason, detail } = deadReasonOf(error);
  const letter = {
    body: Buffer.from(row.job),
    headers: {},
    messageId: row.delivery_id,
    contentType: 'application/json',
  };
  await publishDeadLetter(publisher, letter, reason, detail);
  await unpark(client, [row.delivery_id]);
  metrics.eventDead(reason, detail, { messageId: row.delivery_id, headers: { [jobHeader]: row.job } });
}

async function publish(enqueue: Enqueue, rows: ReleasedRow[]): Promise<void> {
  if (rows.length === 0) return;
  const inOrder = rows.toSorted((a, b) => (a.grant.notBeforeMs ?? 0) - (b.grant.notBeforeMs ?? 0));
  await enqueue(inOrder.map(toOutgoing));
}

/** Turns a parked delivery back into a job. */
export function toOutgoing({ row, grant }: ReleasedRow): Outgoing {
  const job = { ...(JSON.parse(row.job) as DeliveryJob), deliveryId: Number(row.delivery_id), parked: true };
  return { job: granted(job, grant), payload: row.payload ?? Buffer.alloc(0) };
}
