/**
 * A PostgreSQL standby that the delivery log is read from, to relieve the primary. Its answers may be slightly old: how old is known from how
 * far it has replayed what the primary had written at a known time. When it is too old, away or promoted, the primary answers instead.
 */
import type { Log } from '@gatepost/runtime/log';
import { isAway } from '@gatepost/runtime/store-errors';
import { openPool, type Pool, type PoolOptions } from '@gatepost/webhook-db/pool';

export type Replica = AsyncDisposable & {
  /** The result of `load` on the replica, which has everything committed before `asOf`. Undefined: ask the primary. */
  read<T>(load: (pool: Pool) => Promise<T>): Promise<{ value: T; asOf: Date } | undefined>;
};

const sampleEveryMs = 1_000;

export function openReplica(options: { primary: Pool; connecting: PoolOptions; maxLagMs: number; log: Log }): Replica {
  const { primary, maxLagMs, log } = options;
  const pool = openPool(options.connecting);
  /** Positions of the primary at these times, oldest first, which the replica has not reached yet. */
  let samples: { at: number; position: bigint }[] = [];
  let asOf = 0;
  let isUsed: boolean | undefined;

  const sample = async () => {
    const at = Date.now();
    const { position, replayed } = await positionsOf(primary, pool);
    samples.push({ at, position });
    if (replayed === undefined) throw new Error('it is no standby');
    const reached = samples.findLast((one) => one.position <= replayed);
    if (reached) asOf = reached.at;
    samples = samples.filter((one) => one.at > asOf && one.at > at - maxLagMs);
  };
  const isFresh = () => Date.now() - asOf <= maxLagMs;
  const tell = (why: string) => {
    if (isFresh() === isUsed) return;
    isUsed = isFresh();
    if (isUsed) log.info('the log of deliveries is read from the replica');
    else log.warn({ why }, 'the log of deliveries is read from the primary');
  };
  const leave = (error: unknown) => {
    asOf = 0;
    tell((error as Error).message);
  };
  let sampling: Promise<void> | undefined;
  const timer = setInterval(() => {
    sampling ??= sample()
      .then(() => tell('it lags behind'), leave)
      .finally(() => {
        sampling = undefined;
      });
  }, sampleEveryMs);

  return {
    async read(load) {
      if (!isFresh()) return undefined;
      const answeredAsOf = new Date(asOf);
      try {
        return { value: await load(pool), asOf: answeredAsOf };
      } catch (error) {
        if (isAway(error)) leave(error);
        return undefined; // what it lacks may be newer than it
      }
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await sampling;
      await pool.end();
    },
  };
}

/** The current position of the primary, and how far the replica has come. */
async function positionsOf(primary: Pool, replica: Pool): Promise<{ position: bigint; replayed: bigint | undefined }> {
  const [there, here] = await Promise.all([
    primary.query<{ position: string }>('SELECT pg_current_wal_lsn()::text AS position'),
    // Null where nothing is replayed: on a server that is no standby, or was promoted.
    replica.query<{ position: string | null }>(
      'SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()::text END AS position',
    ),
  ]);
  const replayed = here.rows[0]!.position;
  return {
    position: positionOf(there.rows[0]!.position),
    replayed: replayed === null ? undefined : positionOf(replayed),
  };
}

/** A write-ahead log position in text form: `16/B374D848`. */
function positionOf(text: string): bigint {
  const [high = '', low = ''] = text.split('/');
  return (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`);
}
