/** Accounts as identities of one person: linking makes one account a further way to sign in to another, unlinking ends that. */
import { inTransaction } from '@gatepost/runtime/transaction';
import type { PoolClient } from 'pg';
import type { Pool } from '../database.ts';
import { sessionsEnd, waitForSessionsEnd } from './end-access.ts';

type LockedPrimary = { blocked: boolean; sessionsNotBefore: Date | null; incarnation: string };

/** Why two accounts cannot be linked; `has_linked`: the secondary one has identities of its own. */
export type LinkProblem = 'no_account' | 'already_linked' | 'blocked' | 'has_linked';

/**
 * In one transaction, so that neither account can be linked elsewhere meanwhile. Sessions of the linked account end.
 * @param checks further ones in the transaction, which throw to prevent the link: `before` it locks the accounts, and of the `primary` one
 */
export async function link(
  pool: Pool,
  { primary, secondary }: { primary: string; secondary: string },
  checks?: { before(client: PoolClient): Promise<void>; primary(account: LockedPrimary): void },
): Promise<LinkProblem | undefined> {
  return inTransaction(pool, async (client) => {
    await checks?.before(client);
    const { rows } = await client.query<LockedPrimary & { user_id: string; linked_to: string | null }>(
      `SELECT user_id, linked_to, blocked, sessions_not_before AS "sessionsNotBefore", incarnation
         FROM accounts WHERE user_id = ANY ($1) ORDER BY user_id FOR UPDATE`,
      [[primary, secondary]],
    );
    const [first, second] = [primary, secondary].map((id) => rows.find((row) => row.user_id === id));
    if (!first || first.linked_to !== null || !second) return 'no_account';
    checks?.primary(first);
    if (second.linked_to !== null) return 'already_linked';
    if (second.blocked) return 'blocked';
    const { rowCount } = await client.query('SELECT FROM accounts WHERE linked_to = $1 LIMIT 1', [secondary]);
    if (rowCount) return 'has_linked';
    await client.query(
      'UPDATE accounts SET linked_to = $2, sessions_not_before = $3, updated_at = now() WHERE user_id = $1',
      [secondary, primary, sessionsEnd()],
    );
    await client.query('UPDATE accounts SET updated_at = now() WHERE user_id = $1', [primary]);
    await client.query('DELETE FROM consents WHERE user_id = $1', [secondary]);
    await client.query('DELETE FROM artefacts WHERE account_id = $1', [secondary]);
    return undefined;
  });
}

/** In one transaction; then all sessions of both end. Resolves to whether one of the linked identities was the one that leaves. */
export async function unlink(
  pool: Pool,
  primary: string,
  isLeaving: (identity: { user_id: string; strategy: string }) => boolean,
): Promise<boolean> {
  const mark = sessionsEnd();
  const wasLinked = await inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ user_id: string; strategy: string }>(
      `SELECT user_id, strategy FROM accounts JOIN connections ON connections.name = connection
       WHERE linked_to = $1 ORDER BY user_id FOR UPDATE OF accounts`,
      [primary],
    );
    const leaving = rows.find(isLeaving);
    if (!leaving) return false;
    const both = [primary, leaving.user_id];
    await client.query('UPDATE accounts SET linked_to = NULL WHERE user_id = $1', [leaving.user_id]);
    await client.query('UPDATE accounts SET sessions_not_before = $2, updated_at = now() WHERE user_id = ANY ($1)', [
      both,
      mark,
    ]);
    await client.query('DELETE FROM artefacts WHERE account_id = ANY ($1)', [both]);
    return true;
  });
  if (wasLinked) await waitForSessionsEnd(mark);
  return wasLinked;
}
