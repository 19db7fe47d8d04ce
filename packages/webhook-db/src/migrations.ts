/** Brings the `webhooks` schema up to date: as a function, and as a program (`pnpm --filter @gatepost/webhook-db migrate`). */
import { fileURLToPath } from 'node:url';
import { type Applied, findMissing, migrate } from '@gatepost/migrate/migrate';
import { readEnv } from '@gatepost/runtime/env';
import { Misconfigured } from '@gatepost/runtime/misconfigured';
import { postgresUrl } from '@gatepost/runtime/postgres';
import { isProgram, runProgram } from '@gatepost/runtime/program';
import { z } from 'zod';
import { schemaName } from './pool.ts';
import { webhookDatabaseOf } from './urls.ts';

export const migrationsFolder = fileURLToPath(new URL('../prisma/migrations', import.meta.url));

export function migrateWebhooks(databaseUrl: string): Promise<Applied> {
  return migrate({ databaseUrl, schema: schemaName, folder: migrationsFolder });
}

/** @throws Misconfigured when the schema lacks one of this version's migrations. Additions by a newer version do not matter. */
export async function checkMigrated(databaseUrl: string): Promise<void> {
  const missing = await findMissing({ databaseUrl, schema: schemaName, folder: migrationsFolder });
  if (missing.length > 0)
    throw new Misconfigured('could not start', [
      `PostgreSQL: ${missing.length} migrations of this version are missing (${missing[0]}): run this version's migrations first (docs/deploying.md)`,
    ]);
}

if (isProgram(import.meta.filename)) await runProgram('webhooks migrations', main);

async function main(): Promise<void> {
  const url = postgresUrl.optional();
  const variables = {
    WEBHOOK_DATABASE_URL: url,
    WEBHOOK_DATABASE_DIRECT_URL: url,
    DATABASE_URL: url,
    DATABASE_DIRECT_URL: url,
  };
  const { directUrl } = webhookDatabaseOf(readEnv(z.object(variables)));
  const { applied, present } = await migrateWebhooks(directUrl);
  console.log(`webhooks: ${applied.length} of ${present} migrations applied now`);
}
