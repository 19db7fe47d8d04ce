/**
 * Finds deliveries that RabbitMQ should have but may have lost (a wiped broker): events whose outcome is still missing after a while, and
 * parked rows that were published and never settled. They are parked, due at once and marked `mayRepeat` so that nothing with a recorded
 * outcome is sent twice; the pump does the rest. Also resumes deliveries that are paused although nothing else is.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { jobFields, jobHeader } from '@gatepost/contracts/delivery-job';
import { inHalves } from '@gatepost/runtime/halve';
import type { Log } from '@gatepost/runtime/log';
import { checkPostgresWrites } from '@gatepost/runtime/postgres';
import { troubleOf } from '@gatepost/runtime/store-errors';
import { inTransaction } from '@gatepost/runtime/transaction';
import { parkUnsettled } from '@gatepost/webhook-db/parked';
import { findAccountsWithPaused, resumeDeliveries } from '@gatepost/webhook-db/paused';
import type { Pool } from '@gatepost/webhook-db/pool';
import { ownSource } from '@gatepost/webhook-db/requested';
import type { PoolClient } from 'pg';
import { messageFields } from '../log-fields.ts';
import { type Parking, park } from './park.ts';

/** With more jobs than this in the queue, a missing outcome means late, not lost. */
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
  sequence: string | null;
  traceparent: string | null;
};

const dayOf = (time: string) => `(${time}::timestamptz AT TIME ZONE 'UTC')::date`;

// A delivery of an event is lost if it has neither an outcome nor a row in `parked`, and its hook is still active. Outcomes are searched from
// the day before, since another clock sets their day. A day of events may be kept for paused deliveries after its outcomes were dropped: such
// events tell nothing. Neither do events of the API: what it promised is a row in `parked`, which it deletes when it answers 503 (decision 0004).
const lostDeliveries = `
  SELECT e.key, e.received_on::text, e.guid, e.type, e.action, e.account_id, e.repository_id, e.occurred_at,
         d.hook_id, d.delivery_id, d.sequence, e.traceparent
    FROM events e, unnest(e.hook_ids, e.delivery_ids, e.sequences) AS d (hook_id, delivery_id, sequence)
   WHERE e.received_at > $1 AND e.received_at <= $2 AND e.received_on BETWEEN ${dayOf('$1')} AND ${dayOf('$2')} AND e.hook_ids <> '{}'
     AND e.source <> '${ownSource}'
     AND to_regclass('deliveries_' || to_char(e.received_on, 'YYYYMMDD')) IS NOT NULL
     AND EXISTS (SELECT FROM hooks h WHERE h.id = d.hook_id AND h.active)
     AND NOT EXISTS (SELECT FROM deliveries l WHERE l.id = d.delivery_id AND l.delivered_on >= ${dayOf('$1')} - 1)
     AND NOT EXISTS (SELECT FROM parked p WHERE p.delivery_id = d.delivery_id)
   ORDER BY e.received_at`;

/**
 * How many events one transaction examines, or fewer if they have this many deliveries (never splitting events of the same moment), and how
 * many rows one statement parks.
 */
const eventsMax = 2_000;
const deliveriesMax = 20_000;
const rowsMax = 1_000;
/** The pause after each piece, as a multiple of the time it took: others need the database more. */
const pauses = 4;

type Rescuing = Parameters<typeof openRescue>[0] & { stop: AbortSignal };

/**
 * Looks ten times per `afterMs`, one dispatcher at a time. `afterMs` is how old an event must be; `jobsWaiting` tells how many
 * jobs RabbitMQ has ready.
 */
export function openRescue(options: {
  pool: Pool;
  jobsWaiting: () => Promise<number>;
  afterMs: number;
  log: Log;
}): AsyncDisposable {
  const stop = new AbortController();
  let running: Promise<void> = Promise.resolve();
  let hasFailed = false;
  const look = async () => {
    if (hasFailed) {
      // After an outage of PostgreSQL dispatchers have outcomes to record, which takes seconds: nothing counts as lost until the next look.
      await checkPostgresWrites(options.pool);
      hasFailed = false;
      return;
    }
    hasFailed = true;
    await rescue({ ...options, stop: stop.signal });
    hasFailed = false;
    await resumeForgotten({ ...options, stop: stop.signal });
  };
  const timer = setInterval(() => {
    running = running
      .then(look)
      .catch((error) => options.log.warn({ error }, 'could not look for lost deliveries, trying again later'));
  }, options.afterMs / 10);
  timer.unref();
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      stop.abort();
      await running;
    },
  };
}

async function rescue(options: Rescuing): Promise<void> {
  // After a long outage, or in an old backup, there is much to examine: one piece at a time, each in its own transaction.
  for (let isBehind = true; isBehind && !options.stop.aborted; ) {
    if ((await options.jobsWaiting()) > jobsWaitingMax) return;
    const begunAt = performance.now();
    isBehind = await rescuePiece(options);
    if (!isBehind) return;
    await wait((performance.now() - begunAt) * pauses, undefined, { signal: options.stop }).catch(() => {
      // disposed: the loop ends
    });
  }
}

/** Answers whether more is left. */
function rescuePiece({ pool, afterMs, log }: Rescuing): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    if (!(await isOnlyRescuer(client))) return false;
    const { from, until, isCut } = await nextPiece(client, afterMs);
    if (until > from) {
      const { rows } = await client.query<Lost>(lostDeliveries, [from, until]);
      if (rows.length > 0)
        log.warn({ deliveries: rows.length }, 'found deliveries without an outcome, sending them again');
      const found = rows.map(toParking);
      for (const { job } of found) log.debug(jobFields(job), 'a delivery has no outcome, sending it again');
      await parkAll(client, found, log);
      await client.query('UPDATE sweeps SET swept_until = $1', [until]);
    }
    const unsettled = await parkUnsettled(client, afterMs, rowsMax);
    for (const { delivery_id, job } of unsettled)
      log.debug(
        messageFields({ messageId: delivery_id, headers: { [jobHeader]: job } }),
        'a parked delivery has no outcome, sending it again',
      );
    if (unsettled.length > 0)
      log.warn({ deliveries: unsettled.length }, 'found parked deliveries without an outcome, sending them again');
    return isCut || unsettled.length === rowsMax;
  });
}

/**
 * Resumes deliveries that were parked just as their account or hook was resumed, or whose account or hook was deleted. An account may have so
 * many paused ones of another hook that PostgreSQL times out: that must not hold up anything else.
 */
async function resumeForgotten({ pool, log, stop }: Rescuing): Promise<void> {
  for (const accountId of await findAccountsWithPaused(pool)) {
    const step = () =>
      inTransaction(pool, async (client) =>
        (await isOnlyRescuer(client)) ? resumeDeliveries(client, accountId, rowsMax) : 0,
      );
    try {
      for (let count = rowsMax; count === rowsMax && !stop.aborted; ) count = await step();
    } catch (error) {
      log.warn(
        { error, 'account.id': accountId },
        'could not release the held deliveries of an account, trying again later',
      );
    }
  }
}

/** Whether this dispatcher is the only one looking, until the transaction ends. */
async function isOnlyRescuer(client: PoolClient): Promise<boolean> {
  const { rows } = await client.query<{ mine: boolean }>(
    "SELECT pg_try_advisory_xact_lock(hashtextextended('gatepost sweep', 0)) AS mine",
  );
  return rows[0]!.mine;
}

/** Which events to examine next, by when they were received. `isCut`: there are more. */
async function nextPiece(client: PoolClient, afterMs: number): Promise<{ from: Date; until: Date; isCut: boolean }> {
  await client.query(
    `INSERT INTO sweeps (id, swept_until) VALUES (1, now() - interval '1 day') ON CONFLICT DO NOTHING`,
  );
  const { rows } = await client.query<{ from: Date; until: Date }>(
    `SELECT swept_until AS from, now() - $1 * interval '1 ms' AS until FROM sweeps`,
    [afterMs],
  );
  const { from, until } = rows[0]!;
  const { rows: found } = await client.query<{ received_at: Date }>(
    // Reads no further than the piece goes: both follow the index.
    `SELECT received_at FROM (
       SELECT received_at, row_number() OVER so_far AS events, sum(cardinality(hook_ids)) OVER so_far AS deliveries FROM events
        WHERE received_at > $1 AND received_at <= $2 AND received_on BETWEEN ${dayOf('$1')} AND ${dayOf('$2')} AND hook_ids <> '{}'
       WINDOW so_far AS (ORDER BY received_at ROWS UNBOUNDED PRECEDING)) s
      WHERE events = ${eventsMax} OR deliveries >= ${deliveriesMax} ORDER BY received_at LIMIT 1`,
    [from, until],
  );
  return { from, until: found[0]?.received_at ?? until, isCut: found.length > 0 };
}

/** Parks what was found. Rows that PostgreSQL refuses are logged, and hold up neither the others nor later pieces. */
async function parkAll(client: PoolClient, parkings: Parking[], log: Log): Promise<void> {
  for (let start = 0; start < parkings.length; start += rowsMax) {
    await inHalves(parkings.slice(start, start + rowsMax), {
      async work(some) {
        await client.query('SAVEPOINT piece');
        try {
          await park(client, some);
        } catch (error) {
          if (troubleOf(error) !== 'away') await client.query('ROLLBACK TO piece');
          throw error;
        }
      },
      alone: async ({ job }, error) => log.error({ error, ...jobFields(job) }, 'could not send a lost delivery again'),
      isNobodysFault: (error) => troubleOf(error) === 'away',
    });
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
      sequence: row.sequence === null ? undefined : Number(row.sequence),
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
      ...(row.traceparent !== null && { traceparent: row.traceparent }),
    },
  };
}
