/** Who may see whom: people and machines see those they share an organization with, and always themselves. */
import type { Queryable } from '@gatepost/webhook-db/pool';
import { isRestricted } from '@gatepost/webhook-db/restricted-apps';
import type { Token } from '../access/token.ts';

/** An organization that restricts the caller's application ($2) does not count; `a` is the account. */
export const isOpenToApp = `NOT ${isRestricted('a.oauth_app_restrictions', 'a.id', '$2::text')}`;

/** When the oldest organization shared by the caller and `subject` was created; null: they share none. */
export async function sharedSince(reads: Queryable, token: Token, subject: string): Promise<Date | null> {
  const { rows } = await reads.query<{ since: Date | null }>({
    name: 'shared organizations',
    text: `SELECT min(a.created_at) AS since FROM memberships mine
             JOIN memberships theirs ON theirs.account_id = mine.account_id AND theirs.subject = $3
             JOIN accounts a ON a.id = mine.account_id
            WHERE mine.subject = $1 AND ${isOpenToApp}`,
    values: [token.subject, token.app, subject],
  });
  return rows[0]!.since;
}
