/** Brings the `auth` schema up to date: as a function, and as a program (`pnpm --filter @gatepost/auth migrate`). */
import { fileURLToPath } from 'node:url';
import { type Applied, migrate } from '@gatepost/migrate/migrate';
import { schemaName } from './database.ts';

export const migrationsFolder = fileURLToPath(new URL('../prisma/migrations', import.meta.url));

export function migrateAuth(databaseUrl: string): Promise<Applied> {
  return migrate({ databaseUrl, schema: schemaName, folder: migrationsFolder });
}

if (import.meta.main) {
  const databaseUrl = process.env.AUTH_DATABASE_URL ?? process.env.DATABASE_URL;
  if (!databaseUrl) throw new Error('DATABASE_URL is not set');
  const { applied, present } = await migrateAuth(databaseUrl);
  console.log(`auth: ${applied.length} of ${present} migrations applied now`);
}
