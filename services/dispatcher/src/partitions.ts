/** Daily partitions: made ahead at start and every hour, and at once when one is found missing; dropped when they are too old. */

import type { Log } from '@gatepost/runtime/log';
import { sqlStateOf } from '@gatepost/runtime/store-errors';
import type { Pool } from '@gatepost/webhook-db/pool';

const daysAhead = 3;
const everyMs = 3_600_000;

/** No partition takes the row: 23514 (check_violation), as with a row that violates a CHECK. */
export function isMissingPartition(error: unknown): boolean {
  return sqlStateOf(error) === '23514' && /no partition of relation/.test((error as Error).message);
}

/** Makes today's partitions and the next days'. Any number of dispatchers may do so at once. */
export async function ensurePartitions(pool: Pool): Promise<void> {
  await pool.query('SELECT ensure_partitions($1)', [daysAhead]);
}

/** Makes partitions now, and makes and drops them every hour until disposed. Rejects when the first time fails. */
export async function keepPartitions(pool: Pool, daysKept: number, log: Log): Promise<Disposable> {
  const drop = async () => {
    const { rows } = await pool.query<{ dropped: number }>('SELECT drop_old_partitions($1) AS dropped', [daysKept]);
    if (rows[0]!.dropped > 0) log.info({ partitions: rows[0]!.dropped }, 'dropped partitions past their retention');
  };
  const tick = () =>
    ensurePartitions(pool)
      .then(drop)
      .catch((error) => log.warn({ error }, 'could not make or drop partitions, trying again in an hour'));
  await ensurePartitions(pool);
  void tick();
  const timer = setInterval(tick, everyMs);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
