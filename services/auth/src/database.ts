/** PostgreSQL, schema `auth`: one pool, for Prisma's client and for the plain SQL of the artefacts' hot path. */
import type { Log } from '@gatepost/runtime/log';
import { type DatabaseUrls, openSettingsPool, refuseStandby } from '@gatepost/runtime/postgres';
import { PrismaPg } from '@prisma/adapter-pg';
import type pg from 'pg';
import { PrismaClient } from './generated/client.ts';
import { makeWriteWatch } from './own-writes.ts';
import { toStoreError } from './stores-away.ts';

export { Prisma } from './generated/client.ts';
export type Database = PrismaClient;
export type Pool = pg.Pool;

export const schemaName = 'auth';

export type Databases = AsyncDisposable & {
  pool: Pool;
  db: Database;
  /** Calls `forget` when a statement of this process may have changed an account or a grant, before its caller learns that it is done. */
  onOwnWrite(forget: () => void): void;
  /** For statements whose cost depends on the caller: two separate connections, read-only, limited to two seconds. */
  searchPool: Pool;
};

/**
 * Opens the pool and Prisma’s client on it. PostgreSQL cancels a query after `timeoutMs`; a query that gets no connection within half of
 * that rejects. If PostgreSQL does not respond even then, the query is abandoned together with its connection, so that nobody waits for a
 * frozen server.
 */
export function openDatabase(
  { url, isPooled }: Pick<DatabaseUrls, 'url' | 'isPooled'>,
  timeoutMs: number,
  log: Log,
): Databases {
  const forgetting: (() => void)[] = [];
  const written = () => {
    for (const forget of forgetting) forget();
  };
  const open = (max: number, settings: Record<string, string | number>, whenWritten = () => {}) => {
    const pool = openSettingsPool(
      {
        connectionString: url,
        application_name: 'gatepost-auth',
        max,
        keepAlive: true,
        connectionTimeoutMillis: timeoutMs / 2,
        query_timeout: timeoutMs + 500,
        onConnect: refuseStandby,
      },
      { search_path: schemaName, ...settings },
      isPooled,
    );
    // An idle connection broke; the next query gets a new one, or an error of its own.
    pool.on('error', (error) => log.warn({ error }, 'lost an idle connection to PostgreSQL'));
    translateErrors(pool, whenWritten);
    return pool;
  };
  const pool = open(16, { statement_timeout: timeoutMs }, written);
  const searchPool = open(2, { statement_timeout: 2_000, default_transaction_read_only: 'on', jit: 'off' });
  const db = new PrismaClient({
    adapter: new PrismaPg(pool, { schema: schemaName }),
    // As for single statements; Prisma's own are 2 and 5 seconds.
    transactionOptions: { maxWait: timeoutMs / 2, timeout: timeoutMs },
  });
  return {
    pool,
    db,
    searchPool,
    onOwnWrite: (forget) => void forgetting.push(forget),
    async [Symbol.asyncDispose]() {
      await db.$disconnect();
      await Promise.all([pool.end(), searchPool.end()]);
    },
  };
}

/**
 * Makes queries reject with `temporarily_unavailable` while PostgreSQL is down, so that callers need not translate errors. All
 * statements pass through one of these functions, including Prisma’s, which passes on errors that do not come from the database. Also
 * reports writes (own-writes.ts).
 */
function translateErrors(pool: Pool, written: () => void): void {
  pool.connect = translatingErrors(pool.connect.bind(pool));
  // If the connection breaks during a statement, the pool rejects before the connection does.
  pool.query = translatingErrors(pool.query.bind(pool));
  pool.on('connect', (client) => {
    client.query = translatingErrors(client.query.bind(client), makeWriteWatch(written));
  });
}

/** Wraps a function of the driver, which answers by callback if it is given one and by promise otherwise. */
function translatingErrors<F>(ask: F, after: (asked: unknown) => void = () => {}): F {
  const wrapped = (...given: unknown[]): unknown => {
    const done = given.at(-1);
    if (typeof done === 'function') {
      const callback = (error: unknown, ...rest: unknown[]) => {
        after(given[0]);
        done(error && toStoreError(error), ...rest);
      };
      return (ask as Ask)(...given.slice(0, -1), callback);
    }
    const answer = (ask as Ask)(...given);
    // A query object made by the caller (a cursor) reports errors itself.
    if (typeof answer?.catch !== 'function') return answer;
    return answer
      .catch((error: unknown) => {
        throw toStoreError(error);
      })
      .finally(() => after(given[0]));
  };
  return wrapped as F;
}

type Ask = (...given: unknown[]) => Promise<unknown> | undefined;
