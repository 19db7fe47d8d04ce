/** Brings parked deliveries back: what is due, or will be in a moment, becomes a job again, published with confirm. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Publisher } from '@gatepost/amqp/publisher';
import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import type { Log } from '@gatepost/runtime/log';
import { troubleOf } from '@gatepost/runtime/store-errors';
import type { Pool } from '@gatepost/webhook-db/pool';
import type { PoolClient } from 'pg';
import { publishDeadLetter } from '../dead-letter.ts';
import type { Metrics } from '../metrics.ts';
import type { Moved } from '../progress.ts';
import type { Enqueue } from '../routing/enqueue.ts';
import { deadReasonOf } from '../trouble.ts';

/** Taken this much ahead of their time; whoever delivers waits for the exact moment. */
export const aheadMs = 400;
const idleMs = 100;
const failedMs = 500;
const batchMax = 250;
/** With so many jobs in the queue nothing is added: a limit that was lifted must not put a million jobs before everybody else's. */
const jobsWaitingMax = 200;
const fullMs = 25;

type Row = { delivery_id: string; due_at: Date; job: string; payload: Buffer | null };

// What waits for a limit has an appointment. Retries and what found its receiver busy come after it, and only while there is room.
const claim = `
  WITH due AS (
    SELECT delivery_id FROM parked
     WHERE published_at IS NULL AND due_at <= now() + $1 * interval '1 ms' AND ($3 OR reason = 'throttle')
     ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED
  )
  UPDATE parked p SET published_at = now() FROM due WHERE p.delivery_id = due.delivery_id
  RETURNING p.delivery_id, p.due_at, p.job,
            (SELECT e.payload FROM events e WHERE e.key = p.event_key AND e.received_on = p.event_on AND octet_length(e.payload) <= 65536) AS payload`;

/**
 * Runs until disposed. A batch is claimed, published and committed in one transaction: if we die in between, the rows are due
 * again, and a job may be published twice, with one delivery id. `jobsWaiting` tells how many jobs RabbitMQ has ready, `isBehind`
 * whether those that we took cannot begin, `hasRoom` whether less urgent rows may be taken.
 */
export function openPump(options: {
  pool: Pool;
  enqueueOnce: Enqueue;
  jobsWaiting: () => Promise<number>;
  isBehind: () => boolean;
  hasRoom: () => boolean;
  publisher: Publisher;
  metrics: Metrics;
  moved: Moved;
  log: Log;
}): AsyncDisposable {
  const stop = new AbortController();
  // Less after a batch that nothing explains: the row at fault is found alone, and the rest goes on.
  let most = batchMax;
  const pumping = (async () => {
    while (!stop.signal.aborted) {
      let pauseMs = idleMs;
      try {
        if (options.isBehind() || (await options.jobsWaiting()) > jobsWaitingMax) pauseMs = fullMs;
        else {
          if ((await pumpOnce(options, most)) === most) pauseMs = 0;
          most = Math.min(batchMax, most * 2);
        }
        options.moved.pumped += 1;
      } catch (error) {
        if (troubleOf(error) !== 'away') most = Math.max(1, most >> 1);
        options.log.warn({ error }, 'could not bring parked deliveries back, trying again');
        pauseMs = failedMs;
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

type Pumping = { pool: Pool; enqueueOnce: Enqueue; hasRoom: () => boolean; publisher: Publisher; metrics: Metrics };

async function pumpOnce(options: Pumping, most: number): Promise<number> {
  const client = await options.pool.connect();
  let broken: Error | undefined;
  try {
    await client.query('BEGIN');
    const { rows } = await client.query<Row>({
      name: 'claim parked',
      text: claim,
      values: [aheadMs, most, options.hasRoom()],
    });
    if (rows.length > 0) {
      try {
        await publish(options.enqueueOnce, rows);
      } catch (error) {
        if (most > 1 || troubleOf(error) === 'away') throw error;
        await bury(options, client, rows[0]!, error);
      }
    }
    await client.query('COMMIT');
    return rows.length;
  } catch (error) {
    broken = await rollback(client);
    throw error;
  } finally {
    client.release(broken);
  }
}

/** A row that cannot be published by itself becomes a dead letter, else it would be the first of every batch. */
async function bury({ publisher, metrics }: Pumping, client: PoolClient, row: Row, error: unknown): Promise<void> {
  const { reason, detail } = deadReasonOf(error);
  const letter = {
    body: Buffer.from(row.job),
    headers: {},
    messageId: row.delivery_id,
    contentType: 'application/json',
  };
  await publishDeadLetter(publisher, letter, reason, detail);
  await client.query('DELETE FROM parked WHERE delivery_id = $1', [row.delivery_id]);
  metrics.eventDead(reason, detail, row.delivery_id);
}

async function publish(enqueueOnce: Enqueue, rows: Row[]): Promise<void> {
  rows.sort((a, b) => a.due_at.getTime() - b.due_at.getTime());
  await enqueueOnce(
    rows.map((row) => ({
      job: {
        ...(JSON.parse(row.job) as DeliveryJob),
        deliveryId: Number(row.delivery_id),
        notBeforeMs: row.due_at.getTime(),
        parked: true,
      },
      payload: row.payload ?? Buffer.alloc(0),
    })),
  );
}

async function rollback(client: PoolClient): Promise<Error | undefined> {
  try {
    await client.query('ROLLBACK');
    return undefined;
  } catch (error) {
    return error as Error; // the connection is of no more use
  }
}
