/** How to reach the webhook database, from the variables that its services read. */
import { Misconfigured } from '@gatepost/runtime/misconfigured';
import { type DatabaseUrls, databaseUrlsOf } from '@gatepost/runtime/postgres';

type Variables = Partial<
  Record<
    'WEBHOOK_DATABASE_URL' | 'WEBHOOK_DATABASE_DIRECT_URL' | 'DATABASE_URL' | 'DATABASE_DIRECT_URL',
    string | undefined
  >
>;

/** @throws Misconfigured when neither of the two database variables is set. */
export function webhookDatabaseOf(env: Variables): DatabaseUrls {
  const urls = databaseUrlsOf(
    { url: env.WEBHOOK_DATABASE_URL, directUrl: env.WEBHOOK_DATABASE_DIRECT_URL },
    { url: env.DATABASE_URL, directUrl: env.DATABASE_DIRECT_URL },
  );
  if (!urls) throw new Misconfigured('bad environment', ['neither WEBHOOK_DATABASE_URL nor DATABASE_URL is set']);
  return urls;
}
