/** Prisma's client for the `webhooks` schema, used for everything except the dispatcher's hot path. */
import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from './generated/client.ts';
import { openPool, schemaName } from './pool.ts';

export type * from './generated/client.ts';
export { Prisma } from './generated/client.ts';
export type Database = PrismaClient;

export function openDatabase(options: {
  databaseUrl: string;
  isPooled?: boolean;
  name: string;
  max?: number;
  connectTimeoutMs?: number;
  statementTimeoutMs?: number;
}): Database {
  const { databaseUrl, isPooled, name, max = 10, connectTimeoutMs, statementTimeoutMs } = options;
  const onError = () => {}; // the next statement gets another connection, or an error of its own
  const pool = openPool({ databaseUrl, isPooled, name, max, connectTimeoutMs, statementTimeoutMs, onError });
  return new PrismaClient({ adapter: new PrismaPg(pool, { schema: schemaName, disposeExternalPool: true }) });
}
