/** A person as actions see them, read by one statement of plain SQL, since a token request waits for it. */
import { accountColumns } from '../accounts/for-tokens.ts';
import type { PresentedAccount } from '../accounts/present-user.ts';
import type { Pool } from '../database.ts';

/** An account, the names of its roles, whether other accounts are linked to it, and whether it has recovery codes left. */
export type PersonForActions = PresentedAccount & { roles: string[]; hasLinked: boolean; hasRecoveryCodes: boolean };

/**
 * @param organization the id of the one they sign in to: their roles there count, as do those that everybody has
 * @param rolesAfterJoining roles that they will have there once they are admitted
 */
export async function findPerson(
  pool: Pool,
  userId: string,
  organization: string | undefined,
  rolesAfterJoining: readonly string[] = [],
): Promise<PersonForActions | undefined> {
  const { rows } = await pool.query<PersonForActions>({
    name: 'person for actions',
    text: `SELECT ${accountColumns}, account.user_metadata AS "userMetadata", account.app_metadata AS "appMetadata",
                  account.logins_count AS "loginsCount", account.last_login AS "lastLogin", account.last_ip AS "lastIp",
                  account.last_password_reset AS "lastPasswordReset", account.created_at AS "createdAt",
                  EXISTS (SELECT FROM accounts linked WHERE linked.linked_to = account.user_id) AS "hasLinked",
                  EXISTS (SELECT FROM recovery_codes code WHERE code.user_id = account.user_id) AS "hasRecoveryCodes",
                  ARRAY(SELECT role.name FROM roles role WHERE role.is_default OR role.id = ANY ($3) OR role.id IN (
                          SELECT role_id FROM user_roles WHERE user_id = $1
                          UNION ALL SELECT role_id FROM organization_member_roles WHERE user_id = $1 AND organization_id = $2)
                        ORDER BY role.name) AS roles
             FROM accounts account WHERE account.user_id = $1`,
    values: [userId, organization ?? null, rolesAfterJoining],
  });
  return rows[0];
}
