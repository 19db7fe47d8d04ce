/** Brings the `webhooks` schema up to date: as a function, and as a program (`pnpm --filter @gatepost/webhook-db migrate`). */
import { fileURLToPath } from 'node:url';
import { type Applied, migrate } from '@gatepost/migrate/migrate';
import { readEnv, z } from '@gatepost/runtime/env';
import { postgresUrl } from '@gatepost/runtime/postgres';
import { schemaName } from './pool.ts';
import { webhookDatabaseOf } from './urls.ts';

export const migrationsFolder = fileURLToPath(new URL('../prisma/migrations', import.meta.url));

export function migrateWebhooks(databaseUrl: string): Promise<Applied> {
  return migrate({ databaseUrl, schema: schemaName, folder: migrationsFolder });
}

if (import.meta.main) {
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
