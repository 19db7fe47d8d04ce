/**
 * Finds deliveries that RabbitMQ should have and may have lost (a wiped broker), and hands them over again: events whose
 * outcome is missing after a while, and parked rows that were published and never settled. It parks what it finds, due at once
 * and marked `mayRepeat`, so that nothing with a recorded outcome is sent twice; the pump does the rest.
 */
import type { Log } from '@gatepost/runtime/log';
import type { Pool } from '@gatepost/webhook-db/pool';
import { type Parking, park } from './park.ts';

/** With more jobs than this in the queue a missing outcome means late, not lost. */
const jobsWaitingMax = 1_000;

type Lost = {
  key: string;
  received_on: string;
  guid: string;
  type: string;
  action: string | null;
  account_id: number;
  repository_id: number | null;
  occurred_at: Date;
  hook_id: number;
  delivery_id: string;
};

// A delivery of an event is lost if it has neither an outcome nor a place in the parking, while its hook still wants it.
const lostDeliveries = `
  SELECT e.key, e.received_on::text, e.guid, e.type, e.action, e.account_id, e.repository_id, e.occurred_at,
         d.hook_id, d.delivery_id
    FROM events e, unnest(e.hook_ids, e.delivery_ids) AS d (hook_id, delivery_id)
   WHERE e.received_at > $1 AND e.received_at <= $2
     AND e.received_on BETWEEN ($1::timestamptz AT TIME ZONE 'UTC')::date AND ($2::timestamptz AT TIME ZONE 'UTC')::date
     AND EXISTS (SELECT FROM hooks h WHERE h.id = d.hook_id AND h.active)
     AND NOT EXISTS (SELECT FROM deliveries l WHERE l.id = d.delivery_id)
     AND NOT EXISTS (SELECT FROM parked p WHERE p.delivery_id = d.delivery_id)
   ORDER BY e.received_at`;

/**
 * Sweeps ten times per `afterMs`, one dispatcher at a time. `afterMs` is how old an event must be; `jobsWaiting` tells how many
 * jobs RabbitMQ has ready.
 */
export function openSweeper(options: {
  pool: Pool;
  jobsWaiting: () => Promise<number>;
  afterMs: number;
  log: Log;
}): AsyncDisposable {
  let running: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    running = running
      .then(() => sweep(options))
      .catch((error) => options.log.warn({ error }, 'could not sweep, trying again later'));
  }, options.afterMs / 10);
  timer.unref();
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await running;
    },
  };
}

async function sweep(options: Parameters<typeof openSweeper>[0]): Promise<void> {
  const { pool, afterMs, log } = options;
  if ((await options.jobsWaiting()) > jobsWaitingMax) return;
  const client = await pool.connect();
  let failure: Error | undefined;
  try {
    await client.query('BEGIN');
    const { rows: locks } = await client.query<{ mine: boolean }>(
      "SELECT pg_try_advisory_xact_lock(hashtextextended('gatepost sweep', 0)) AS mine",
    );
    if (!locks[0]?.mine) return void (await client.query('ROLLBACK'));
    await client.query(
      `INSERT INTO sweeps (id, swept_until) VALUES (1, now() - interval '1 day') ON CONFLICT DO NOTHING`,
    );
    const { rows: spans } = await client.query<{ from: Date; until: Date }>(
      `SELECT greatest(swept_until, now() - interval '2 days') AS from, now() - $1 * interval '1 ms' AS until FROM sweeps`,
      [afterMs],
    );
    const { from, until } = spans[0]!;
    if (until > from) {
      const { rows } = await client.query<Lost>(lostDeliveries, [from, until]);
      if (rows.length > 0)
        log.warn({ deliveries: rows.length }, 'found deliveries without an outcome, sending them again');
      await park(client, rows.map(toParking));
      await client.query('UPDATE sweeps SET swept_until = $1', [until]);
    }
    const { rowCount } = await client.query(
      `UPDATE parked SET published_at = NULL, due_at = now(), job = (job::jsonb || '{"mayRepeat": true}')::text
        WHERE published_at < now() - $1 * interval '1 ms'`,
      [afterMs],
    );
    if (rowCount) log.warn({ deliveries: rowCount }, 'found parked deliveries without an outcome, sending them again');
    await client.query('COMMIT');
  } catch (error) {
    failure = error as Error;
    await client.query('ROLLBACK').catch(() => {
      // the connection is gone, and the transaction with it
    });
    throw error;
  } finally {
    client.release(failure);
  }
}

function toParking(row: Lost): Parking {
  return {
    reason: 'retry',
    dueMs: Date.now(),
    job: {
      deliveryId: Number(row.delivery_id),
      guid: row.guid,
      hookId: row.hook_id,
      event: row.type,
      action: row.action,
      eventKey: row.key,
      eventOn: row.received_on,
      accountId: row.account_id,
      repositoryId: row.repository_id,
      occurredAt: row.occurred_at.toISOString(),
      attempt: 1,
      redelivery: false,
      throttledAt: null,
      retries: true,
      mayRepeat: true,
    },
  };
}
