import type { Seal } from '@gatepost/runtime/seal';
import type { Pool } from './pool.ts';

/** What a hook's sealed columns are sealed for (`Seal` of `@gatepost/runtime/seal`): webhook-api seals, both open. */

/** `hooks.secret`: the webhook secret as the user gave it. */
export const hookSecretPurpose = 'hook secret';

/** `hooks.headers`: the custom request headers, as the text of a JSON object. */
export const hookHeadersPurpose = 'hook headers';

/** `hooks.credentials`: user name and password of the URL, as they stood in it. */
export const hookCredentialsPurpose = 'hook credentials';

/**
 * Both services call this at start, before they take anything: with another key, a hook's secret could not be read, and its
 * events would not be delivered.
 * @throws when the newest sealed secret does not open under this key.
 */
export async function checkSecretsKey(pool: Pool, seal: Seal): Promise<void> {
  const { rows } = await pool.query<{ id: number; secret: Buffer }>(
    'SELECT id, secret FROM hooks WHERE secret IS NOT NULL ORDER BY id DESC LIMIT 1',
  );
  const newest = rows[0];
  if (!newest) return;
  try {
    seal.open(newest.secret, hookSecretPurpose);
  } catch (cause) {
    throw new Error(
      `SECRETS_KEY is not the key that the webhook secrets in this database are sealed under (hook ${newest.id})`,
      {
        cause,
      },
    );
  }
}
