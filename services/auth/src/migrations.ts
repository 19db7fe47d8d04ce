/** Brings the `auth` schema up to date: as a function, and as a program (`pnpm --filter @gatepost/auth migrate`). */
import { fileURLToPath } from 'node:url';
import { type Applied, findMissing, migrate } from '@gatepost/migrate/migrate';
import { readEnv } from '@gatepost/runtime/env';
import { Misconfigured } from '@gatepost/runtime/misconfigured';
import { postgresUrl } from '@gatepost/runtime/postgres';
import { isProgram, runProgram } from '@gatepost/runtime/program';
import { z } from 'zod';
import { authDatabaseOf } from './config.ts';
import { schemaName } from './database.ts';

export const migrationsFolder = fileURLToPath(new URL('../prisma/migrations', import.meta.url));

export function migrateAuth(databaseUrl: string): Promise<Applied> {
  return migrate({ databaseUrl, schema: schemaName, folder: migrationsFolder });
}

/** @throws Misconfigured when the schema lacks one of this version's migrations. Additions by a newer version do not matter. */
export async function checkMigrated(databaseUrl: string): Promise<void> {
  const missing = await findMissing({ databaseUrl, schema: schemaName, folder: migrationsFolder });
  if (missing.length > 0)
    throw new Misconfigured('could not start', [
      `PostgreSQL: ${missing.length} migrations of this version are missing (${missing[0]}): run \`node dist/migrations.js\` first, or leave MIGRATE_AT_START on`,
    ]);
}

if (isProgram(import.meta.filename)) await runProgram('auth migrations', main);

async function main(): Promise<void> {
  const url = postgresUrl.optional();
  const variables = {
    AUTH_DATABASE_URL: url,
    AUTH_DATABASE_DIRECT_URL: url,
    DATABASE_URL: url,
    DATABASE_DIRECT_URL: url,
  };
  const { directUrl } = authDatabaseOf(readEnv(z.object(variables)));
  const { applied, present } = await migrateAuth(directUrl);
  console.log(`auth: ${applied.length} of ${present} migrations applied now`);
}
