/** What people may do at an API: their own permissions, and those of their roles. Read for each token, so a change applies to the next one. */
import { makeCache } from '../cache.ts';
import type { Changes } from '../changes.ts';
import type { Pool } from '../database.ts';

export type PermissionStore = {
  /**
   * The scopes of the API that the person may have. @param audience its identifier; @param organization where they signed in, whose
   * roles count too, except at the management API
   */
  of(userId: string, audience: string, organization?: string): Promise<string[]>;
  /** The people among these with more permissions at the management API than the scopes `held`. */
  above(userIds: string[], held: ReadonlySet<string>): Promise<Set<string>>;
  /** Whether anybody who signs in by this connection has more permissions there than the scopes `held`. */
  aboveIn(connection: string, held: ReadonlySet<string>): Promise<boolean>;
  /** Whether anybody has a permission at the management API; cached. */
  openManagement(): Promise<boolean>;
};

/** The people in `named` with more permissions at the API $2 than the scopes $3. */
const aboveOf = (named: string) => `
  WITH beyond AS (SELECT role_id, is_default FROM role_permissions JOIN roles ON roles.id = role_id
                   WHERE audience = $2 AND permission <> ALL ($3))
  SELECT user_id FROM ${named}
   WHERE EXISTS (SELECT FROM beyond WHERE is_default)
      OR user_id IN (SELECT user_id FROM user_roles JOIN beyond USING (role_id))
      OR user_id IN (SELECT user_id FROM user_permissions WHERE audience = $2 AND permission <> ALL ($3))`;

export function makePermissionStore(pool: Pool, changes: Changes, management: string): PermissionStore {
  const anybody = makeCache<boolean>({
    changes,
    tables: ['role_permissions', 'user_permissions'],
    load: async () => {
      const { rows } = await pool.query<{ held: boolean }>({
        name: 'permissions held',
        text: `SELECT EXISTS (SELECT FROM role_permissions WHERE audience = $1)
                   OR EXISTS (SELECT FROM user_permissions WHERE audience = $1) AS held`,
        values: [management],
      });
      return rows[0]!.held;
    },
  });
  const openManagement = () => anybody.get('management');
  return {
    async above(userIds, held) {
      if (userIds.length === 0 || !(await openManagement())) return new Set();
      const { rows } = await pool.query<{ user_id: string }>({
        name: 'people above',
        text: aboveOf('unnest($1::text[]) AS named (user_id)'),
        values: [userIds, management, [...held]],
      });
      return new Set(rows.map(({ user_id }) => user_id));
    },
    async aboveIn(connection, held) {
      if (!(await openManagement())) return false;
      const owners = '(SELECT coalesce(linked_to, user_id) AS user_id FROM accounts WHERE connection = $1) AS named';
      const { rows } = await pool.query({
        name: 'people above in a connection',
        text: `${aboveOf(owners)} LIMIT 1`,
        values: [connection, management, [...held]],
      });
      return rows.length > 0;
    },
    async of(userId, audience, organization) {
      const { rows } = await pool.query<{ permission: string }>({
        name: 'permissions',
        text: `SELECT permission FROM user_permissions WHERE user_id = $1 AND audience = $2
               UNION
               SELECT permission FROM role_permissions JOIN roles ON roles.id = role_id
                WHERE audience = $2 AND (is_default OR role_id IN (
                  SELECT role_id FROM user_roles WHERE user_id = $1
                  UNION ALL SELECT role_id FROM organization_member_roles WHERE user_id = $1 AND organization_id = $3))
                ORDER BY permission`,
        values: [userId, audience, audience === management ? null : (organization ?? null)],
      });
      return rows.map(({ permission }) => permission);
    },
    openManagement,
  };
}
