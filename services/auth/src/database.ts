/** PostgreSQL, schema `auth`: one pool, for Prisma's client and for the plain SQL of the artefacts' hot path. */
import type { Log } from '@gatepost/runtime/log';
import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { PrismaClient } from './generated/client.ts';

export { Prisma } from './generated/client.ts';
export type Database = PrismaClient;
export type Pool = pg.Pool;

export const schemaName = 'auth';

export type Databases = AsyncDisposable & { pool: Pool; db: Database };

/**
 * Opens the pool and Prisma's client on it. A query that finds no connection within 2 s rejects, and one that takes 4 s is cancelled by
 * PostgreSQL; one that does not answer even then is given up with its connection, so that nobody waits for a server that is frozen.
 */
export function openDatabase(databaseUrl: string, log: Log): Databases {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    application_name: 'gatepost-auth',
    max: 16,
    keepAlive: true,
    connectionTimeoutMillis: 2_000,
    statement_timeout: 4_000,
    query_timeout: 4_500,
    options: `-c search_path=${schemaName}`,
  });
  // An idle connection that breaks; whoever queries next gets a new one or an error of their own.
  pool.on('error', (error) => log.warn({ error }, 'lost an idle connection to PostgreSQL'));
  // One that breaks in somebody's hands, between two statements, is not the pool's to hear of and would end the process; the
  // next statement rejects.
  pool.on('connect', (client) => client.on('error', () => {}));
  const db = new PrismaClient({ adapter: new PrismaPg(pool, { schema: schemaName }) });
  return {
    pool,
    db,
    async [Symbol.asyncDispose]() {
      await db.$disconnect();
      await pool.end();
    },
  };
}
