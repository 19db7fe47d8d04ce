/**
 * Somebody deletes their account: at once and for good, with sessions, applications and memberships, of which the post hears as of any change of an
 * organization. The last person who may change others stays, or nobody could ever be made an administrator again. Deletions of administrators are
 * made one after the other, so that no two of them can each count on the other.
 */
import { inTransaction } from '@gatepost/runtime/transaction';
import type { Request, Response } from 'express';
import { accountClientId } from '../clients/account-client-id.ts';
import { fieldsOf } from '../http/form-fields.ts';
import { seeOther, sendPage } from '../http/page.ts';
import { deletionPath } from './data.ts';
import type { AccountParts } from './parts.ts';
import { selfServiceOf } from './settings.ts';
import { notTheirs, type Visit } from './visit.ts';

export const deletedPath = '/account/deleted';
/** Whoever has it at the management API can make others administrators. */
const administers = 'update:users';

export async function showDeletion(visit: Visit): Promise<void> {
  if (!selfServiceOf(visit.settings).delete) throw notTheirs();
  return visit.show('account-delete', { path: deletionPath, back: '/account/data' }, await visit.recall(deletionPath));
}

export async function deleteAccount(visit: Visit, request: Request): Promise<void> {
  const { parts, account, session, response, address: ip } = visit;
  if (!selfServiceOf(visit.settings).delete) throw notTheirs();
  if (fieldsOf(request).confirm !== 'yes') return visit.turnTo(deletionPath, { problems: ['confirm_missing'] });
  const { userId, incarnation } = account;
  const outcome = await remove(parts, { userId, incarnation });
  if (outcome === 'last') {
    visit.note('fdu', { reason: 'last_administrator' });
    return visit.turnTo(deletionPath, { problems: ['last_admin'] });
  }
  for (const { uid } of await parts.sessions.ofAccount(userId)) await parts.sessions.end(uid);
  await session.destroy();
  if (outcome === 'gone') parts.report.userDeleted(userId, { clientId: accountClientId, ip });
  seeOther(response, deletedPath);
}

/** `never`: another form was quicker. */
async function remove(
  { pool, management }: AccountParts,
  { userId, incarnation }: { userId: string; incarnation: string },
): Promise<'gone' | 'last' | 'never'> {
  return inTransaction(pool, async (client) => {
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
    if (rows[0]!.is_last) return 'last';
    const { rowCount } = await client.query(
      'DELETE FROM accounts WHERE user_id = $1 AND incarnation = $2 AND linked_to IS NULL',
      [userId, incarnation],
    );
    if (rowCount !== 1) return 'never';
    await client.query('DELETE FROM artefacts WHERE account_id = $1', [userId]);
    return 'gone';
  });
}

/** There is nobody any more to whom it could be shown: anybody may see it. */
export async function showDeleted(parts: AccountParts, request: Request, response: Response): Promise<void> {
  sendPage(response, 'account-deleted', await parts.commonContext({ acceptLanguage: request.get('accept-language') }));
}
