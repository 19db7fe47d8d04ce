/** Daily or (for statistics) weekly partitions: created ahead at start and hourly, and at once when one is missing; dropped when too old. */

import type { Log } from '@gatepost/runtime/log';
import { sqlStateOf } from '@gatepost/runtime/store-errors';
import { inTransaction } from '@gatepost/runtime/transaction';
import type { Pool } from '@gatepost/webhook-db/pool';
import type { QueryConfig } from 'pg';

const daysAhead = 3;
const everyMs = 3_600_000;

/** No partition accepts the row: 23514 (check_violation), as for a violated CHECK, whose name is then in the error. The text depends on the server's language. */
export function isMissingPartition(error: unknown): boolean {
  return sqlStateOf(error) === '23514' && (error as { constraint?: string }).constraint === undefined;
}

/** Creates partitions for today and the next days. Any number of dispatchers may do so at once. */
export async function ensurePartitions(pool: Pool): Promise<void> {
  await pool.query('SELECT ensure_partitions($1)', [daysAhead]);
}

/** Longer than it takes to scan a day. */
const eraseTimeoutMs = 600_000;

/** Longer than an attempt takes with its outcome: those in flight when an account was deleted are then in the log. */
const recordedWithin = '30 minutes';

/**
 * Deletes events, log and statistics of deleted accounts, one partition at a time: there is no index by account, and none is needed. An account
 * deleted a moment ago is erased now, and once more in an hour, with the outcomes that were still to come.
 */
async function erase(pool: Pool, log: Log, stop: AbortSignal): Promise<void> {
  const { rows } = await pool.query<{ ids: number[] | null; settled: number[] | null }>(
    `SELECT array_agg(account_id) AS ids, array_agg(account_id) FILTER (WHERE asked_at < now() - interval '${recordedWithin}') AS settled
       FROM erasures`,
  );
  const { ids, settled } = rows[0]!;
  if (!ids) return;
  const { rows: partitions } = await pool.query<{ name: string }>(
    `SELECT inhrelid::regclass::text AS name FROM pg_inherits
      WHERE inhparent IN ('events'::regclass, 'deliveries'::regclass, 'delivery_stats'::regclass) ORDER BY 1`,
  );
  for (const { name } of partitions)
    await inTransaction(pool, async (client) => {
      const { rows: own } = await client.query<{ pid: number }>(
        `SELECT pg_backend_pid() AS pid, set_config('statement_timeout', '${eraseTimeoutMs}', true)`,
      );
      stop.throwIfAborted();
      const cancel = () => void pool.query('SELECT pg_cancel_backend($1)', [own[0]!.pid]).catch(() => {}); // then its timeout ends it
      stop.addEventListener('abort', cancel);
      const text = `DELETE FROM ${name} WHERE account_id = ANY ($1)`;
      await client
        .query({ text, values: [ids], query_timeout: eraseTimeoutMs } as QueryConfig)
        .finally(() => stop.removeEventListener('abort', cancel));
    });
  await pool.query('DELETE FROM account_versions WHERE account_id = ANY ($1)', [ids]);
  await pool.query('DELETE FROM erasures WHERE account_id = ANY ($1)', [settled]);
  log.info({ 'account.ids': ids }, 'erased the events and deliveries of deleted accounts');
}

/** Creates partitions now, and creates, drops and erases hourly until disposed. Rejects when the first creation fails. */
export async function keepPartitions(
  pool: Pool,
  { days, statsDays }: { days: number; statsDays: number },
  log: Log,
): Promise<AsyncDisposable> {
  const drop = async (name: string, keptDays: number) => {
    const { rows } = await pool.query<{ dropped: number }>(`SELECT ${name}($1) AS dropped`, [keptDays]);
    if (rows[0]!.dropped > 0) log.info({ partitions: rows[0]!.dropped }, 'dropped partitions past their retention');
  };
  const stop = new AbortController();
  // Independent steps: a long read of old statistics must preserve neither the log nor a deleted account's data.
  const steps = [
    () => ensurePartitions(pool),
    () => drop('drop_old_partitions', days),
    () => drop('drop_old_stats', statsDays),
    () => pool.query("DELETE FROM replays WHERE ended_at < now() - $1 * interval '1 day'", [days]),
    () => erase(pool, log, stop.signal),
  ];
  const tick = async () => {
    for (const step of steps)
      if (!stop.signal.aborted)
        await step().catch((error) => {
          if (!stop.signal.aborted) log.warn({ error }, 'could not make or drop partitions, trying again in an hour');
        });
  };
  await ensurePartitions(pool);
  let running = tick();
  const timer = setInterval(() => {
    running = tick();
  }, everyMs);
  timer.unref();
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      clearInterval(timer);
      await running;
    },
  };
}
