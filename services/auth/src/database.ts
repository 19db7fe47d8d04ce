/** PostgreSQL, schema `auth`: one pool, for Prisma's client and for the plain SQL of the artefacts' hot path. */
import type { Log } from '@gatepost/runtime/log';
import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { PrismaClient } from './generated/client.ts';
import { heard } from './stores-away.ts';

export { Prisma } from './generated/client.ts';
export type Database = PrismaClient;
export type Pool = pg.Pool;

export const schemaName = 'auth';

export type Databases = AsyncDisposable & {
  pool: Pool;
  db: Database;
  /** For statements whose cost whoever asks decides: they have two connections, which only read, and two seconds. */
  searchPool: Pool;
};

/**
 * Opens the pool and Prisma's client on it. A query that finds no connection within 2 s rejects, and one that takes 4 s is cancelled by
 * PostgreSQL; one that does not answer even then is given up with its connection, so that nobody waits for a server that is frozen.
 */
export function openDatabase(databaseUrl: string, log: Log): Databases {
  const pool = openPool(databaseUrl, log, { max: 16 });
  const searchPool = openPool(databaseUrl, log, {
    max: 2,
    statement_timeout: 2_000,
    options: `-c search_path=${schemaName} -c default_transaction_read_only=on -c jit=off`,
  });
  const db = new PrismaClient({ adapter: new PrismaPg(pool, { schema: schemaName }) });
  return {
    pool,
    db,
    searchPool,
    async [Symbol.asyncDispose]() {
      await db.$disconnect();
      await Promise.all([pool.end(), searchPool.end()]);
    },
  };
}

function openPool(databaseUrl: string, log: Log, differing: pg.PoolConfig): Pool {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    application_name: 'gatepost-auth',
    keepAlive: true,
    connectionTimeoutMillis: 2_000,
    statement_timeout: 4_000,
    query_timeout: 4_500,
    options: `-c search_path=${schemaName}`,
    ...differing,
  });
  // An idle connection that breaks; whoever queries next gets a new one or an error of their own.
  pool.on('error', (error) => log.warn({ error }, 'lost an idle connection to PostgreSQL'));
  // One that breaks in somebody's hands, between two statements, is not the pool's to hear of and would end the process; the
  // next statement rejects.
  pool.on('connect', (client) => client.on('error', () => {}));
  hearOutages(pool);
  return pool;
}

/**
 * Whoever asks hears `temporarily_unavailable` when PostgreSQL is away, and nobody needs to translate. All statements pass one of these two,
 * the pool's own and Prisma's as well; Prisma hands on what is no error of the database.
 */
function hearOutages(pool: Pool): void {
  pool.connect = hearing(pool.connect.bind(pool));
  pool.on('connect', (client) => {
    client.query = hearing(client.query.bind(client));
  });
}

/** A function of the driver, which answers by a callback if it gets one and by a promise else. */
function hearing<F>(ask: F): F {
  const hear = (...given: unknown[]): unknown => {
    const done = given.at(-1);
    if (typeof done === 'function') {
      const told = (error: unknown, ...rest: unknown[]) => done(error && heard(error), ...rest);
      return (ask as Ask)(...given.slice(0, -1), told);
    }
    const answer = (ask as Ask)(...given);
    // A statement that somebody made himself (a cursor) is answered through itself.
    if (typeof answer?.catch !== 'function') return answer;
    return answer.catch((error: unknown) => {
      throw heard(error);
    });
  };
  return hear as F;
}

type Ask = (...given: unknown[]) => Promise<unknown> | undefined;
