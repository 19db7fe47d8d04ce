/**
 * Anybody with `update:users` at the management API can make others administrators. The last such person cannot leave, or become
 * another account's identity, by their own doing: nobody could ever be made one again (docs/decisions/0250-account-pages.md).
 */
import type { PoolClient } from 'pg';

const administers = 'update:users';

/**
 * Whether this person is the only administrator. Each caller finishes before the next may ask, so that no two administrators each
 * count on the other. @param client in a transaction; @param management the management API's audience
 */
export async function isLastAdministrator(client: PoolClient, management: string, userId: string): Promise<boolean> {
  await client.query("SELECT pg_advisory_xact_lock(hashtextextended('gatepost administrators', 0))");
  const { rows } = await client.query<{ is_last: boolean }>(
    `WITH administrators AS (
       SELECT user_id FROM user_permissions WHERE audience = $1 AND permission = $2
       UNION SELECT user_id FROM user_roles JOIN role_permissions USING (role_id) WHERE audience = $1 AND permission = $2)
     SELECT EXISTS (SELECT FROM administrators WHERE user_id = $3) AND NOT EXISTS (
       SELECT FROM administrators JOIN accounts USING (user_id)
        WHERE user_id <> $3 AND NOT blocked AND linked_to IS NULL) AS is_last`,
    [management, administers, userId],
  );
  return rows[0]!.is_last;
}
