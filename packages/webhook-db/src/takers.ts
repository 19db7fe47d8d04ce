/**
 * Tells which dispatchers are alive among those making a delivery whose event is not routed yet. Each dispatcher holds an advisory lock under
 * a number of its own, on a connection that does nothing else. PostgreSQL releases it when the process dies, loses that connection or hangs:
 * others then continue with what it had taken.
 */

import { randomInt } from 'node:crypto';
import { refuseStandby } from '@gatepost/runtime/postgres';
import pg from 'pg';
import type { Queryable } from './pool.ts';

export type Taker = AsyncDisposable & {
  id: number;
  /**
   * Which of its connections shows others that we are alive. While none does (undefined), nothing may be taken or begun; and whatever was taken
   * under an earlier one may belong to others by now.
   */
  lockedBy(): number | undefined;
};

/** The first half of all these locks: an arbitrary number that nothing else uses. */
const namespace = 1_952_540_011;

/** SQL: whether that taker is dead. No other transaction finds it dead until this one ends. */
export const isDeadTaker = (id: string): string => `pg_try_advisory_xact_lock(${namespace}, ${id})`;

/** How many dispatchers are alive. */
export async function countTakers(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `SELECT count(*)::integer AS count FROM pg_locks
      WHERE locktype = 'advisory' AND classid = ${namespace} AND objsubid = 2 AND granted
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  );
  return rows[0]!.count;
}

/** A hanging process loses its lock after this time. It may not notice at once, so it counts the lock as lost somewhat earlier. */
const idleMaxMs = 15_000;
const heartbeatMaxMs = 12_000;
const heartbeatEveryMs = 4_000;
const reconnectAfterMs = 500;

/** Rejects when the first connection cannot be made; after that it reconnects every half second. */
export async function openTaker(options: {
  databaseUrl: string;
  name: string;
  /** Others may continue with what was taken: PostgreSQL was away, or this process hung. */
  onLost?: () => void;
  /** For tests. */
  now?: () => number;
}): Promise<Taker> {
  const { now = () => performance.now() } = options;
  const id = randomInt(1, 2 ** 31);
  let current: pg.Client | undefined;
  // When it was asked what it has answered: PostgreSQL may have begun to count at any moment since.
  let heardAt = 0;
  let connections = 0;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;

  const lose = (client: pg.Client) => {
    if (current !== client) return;
    current = undefined;
    client.end().catch(() => {}); // it may be gone
    if (closed) return;
    options.onLost?.();
    timer = setTimeout(connectAgain, reconnectAfterMs);
  };
  const heartbeat = async (client: pg.Client) => {
    try {
      const askedAt = now();
      await client.query('SELECT 1');
      heardAt = askedAt;
      if (current === client) timer = setTimeout(() => heartbeat(client), heartbeatEveryMs).unref();
    } catch {
      lose(client);
    }
  };
  const connect = async () => {
    const askedAt = now();
    const client = await connectHolding(options, id, lose);
    if (closed) return void (await client.end());
    current = client;
    heardAt = askedAt;
    connections += 1;
    timer = setTimeout(() => heartbeat(client), heartbeatEveryMs).unref();
  };
  const connectAgain = () => {
    connect().catch(() => {
      if (!closed) timer = setTimeout(connectAgain, reconnectAfterMs);
    });
  };

  await connect();
  return {
    id,
    lockedBy: () => (current === undefined || now() - heardAt > heartbeatMaxMs ? undefined : connections),
    async [Symbol.asyncDispose]() {
      closed = true;
      clearTimeout(timer);
      const client = current;
      current = undefined;
      await client?.end();
    },
  };
}

/** A connection that holds the lock of this number. */
async function connectHolding(
  { databaseUrl, name }: { databaseUrl: string; name: string },
  id: number,
  onLost: (client: pg.Client) => void,
): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: name,
    keepAlive: true,
    connectionTimeoutMillis: 3_000,
    query_timeout: heartbeatEveryMs,
  });
  client.on('error', () => onLost(client));
  client.on('end', () => onLost(client));
  try {
    await client.connect();
    await refuseStandby(client); // the primary would not know of a lock there
    await client.query(`SET idle_session_timeout = ${idleMaxMs}`);
    await client.query('SELECT pg_advisory_lock($1, $2)', [namespace, id]);
    return client;
  } catch (error) {
    await client.end().catch(() => {}); // it never connected
    throw error;
  }
}
