/** What people may do at an API: their own permissions, and those of their roles. Read for each token, so that a change counts with the next. */
import { makeCache } from '../cache.ts';
import type { Changes } from '../changes.ts';
import type { Pool } from '../database.ts';

export type PermissionStore = {
  /**
   * The scopes of the API that the person may have. @param audience its identifier; @param organization where they signed in, whose
   * roles count too, but not at the management API
   */
  of(userId: string, audience: string, organization?: string): Promise<string[]>;
  /** Whether anybody has a permission at the management API; cached. */
  openManagement(): Promise<boolean>;
};

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
  return {
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
    openManagement: () => anybody.get('management'),
  };
}
