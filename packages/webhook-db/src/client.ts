/** Prisma's client on the `webhooks` schema, for everything but the dispatcher's hot path. */
import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from './generated/client.ts';
import { schemaName } from './pool.ts';

export type * from './generated/client.ts';
export { Prisma } from './generated/client.ts';
export type Database = PrismaClient;

export function openDatabase(options: {
  databaseUrl: string;
  name: string;
  max?: number;
  connectTimeoutMs?: number;
  statementTimeoutMs?: number;
}): Database {
  const adapter = new PrismaPg(
    {
      connectionString: options.databaseUrl,
      application_name: options.name,
      max: options.max ?? 10,
      keepAlive: true,
      connectionTimeoutMillis: options.connectTimeoutMs ?? 5_000,
      statement_timeout: options.statementTimeoutMs ?? 15_000,
      options: `-c search_path=${schemaName}`,
    },
    { schema: schemaName },
  );
  return new PrismaClient({ adapter });
}
