/** The part of an account that a token needs, read by plain SQL, which takes a third of the ORM’s CPU time. */
import { storePrefetched, takePrefetched } from '../adapter/prefetched.ts';
import type { Pool } from '../database.ts';
import type { AccountModel } from '../generated/models.ts';

export type AccountForTokens = Pick<
  AccountModel,
  | 'userId'
  | 'connection'
  | 'email'
  | 'emailVerified'
  | 'username'
  | 'phoneNumber'
  | 'phoneVerified'
  | 'name'
  | 'givenName'
  | 'familyName'
  | 'nickname'
  | 'picture'
  | 'updatedAt'
  | 'blocked'
  | 'sessionsNotBefore'
  | 'incarnation'
  | 'linkedTo'
  | 'factors'
>;

/** Columns of a table of accounts aliased as `account`. */
export const accountColumns = `account.user_id AS "userId", account.connection, account.email, account.email_verified AS "emailVerified", account.username,
  account.phone_number AS "phoneNumber", account.phone_verified AS "phoneVerified", account.name, account.given_name AS "givenName",
  account.family_name AS "familyName", account.nickname, account.picture, account.updated_at AS "updatedAt", account.blocked,
  account.sessions_not_before AS "sessionsNotBefore", account.incarnation, account.linked_to AS "linkedTo", account.factors`;

/** @param grantId the grant that will be needed next */
export async function findForTokens(
  pool: Pool,
  userId: string,
  grantId: string | undefined,
): Promise<AccountForTokens | undefined> {
  const known = takePrefetched<AccountForTokens>('account', userId);
  if (known) return known;
  if (grantId === undefined) {
    const text = `SELECT ${accountColumns} FROM accounts account WHERE user_id = $1`;
    const { rows } = await pool.query<AccountForTokens>({ name: 'account', text, values: [userId] });
    return rows[0];
  }
  const { rows } = await pool.query<AccountForTokens & { payload: object | null; consumed_at: Date | null }>({
    name: 'account and grant',
    text: `SELECT ${accountColumns}, grant_.payload, grant_.consumed_at
           FROM accounts account
           LEFT JOIN artefacts grant_ ON grant_.model = 'Grant' AND grant_.id = $2 AND grant_.expires_at > now()
           WHERE user_id = $1`,
    values: [userId, grantId],
  });
  const row = rows[0];
  if (row?.payload) storePrefetched({ kind: 'grant', id: grantId, row });
  return row;
}
