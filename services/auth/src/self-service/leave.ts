/**
 * Lets people delete their accounts: at once and for good, with sessions, applications and memberships (the post is told, as of any change of an
 * organization). The last person who can manage others cannot leave.
 */
import { inTransaction } from '@gatepost/runtime/transaction';
import type { Request, Response } from 'express';
import { isLastAdministrator } from '../accounts/last-administrator.ts';
import { accountClientId } from '../clients/account-client-id.ts';
import { fieldsOf } from '../http/form-fields.ts';
import { seeOther, sendPage } from '../http/page.ts';
import { deletionPath } from './data.ts';
import type { AccountParts } from './parts.ts';
import { selfServiceOf } from './settings.ts';
import { notFound, type Visit } from './visit.ts';

export const deletedPath = '/account/deleted';

export async function showDeletion(visit: Visit): Promise<void> {
  if (!selfServiceOf(visit.settings).delete) throw notFound();
  return visit.show('account-delete', { path: deletionPath, back: '/account/data' }, await visit.recall(deletionPath));
}

export async function deleteAccount(visit: Visit, request: Request): Promise<void> {
  const { parts, account, session, response, address: ip } = visit;
  if (!selfServiceOf(visit.settings).delete) throw notFound();
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

/** `never`: another form was faster. */
async function remove(
  { pool, management }: AccountParts,
  { userId, incarnation }: { userId: string; incarnation: string },
): Promise<'gone' | 'last' | 'never'> {
  return inTransaction(pool, async (client) => {
    if (await isLastAdministrator(client, management, userId)) return 'last';
    const { rowCount } = await client.query(
      'DELETE FROM accounts WHERE user_id = $1 AND incarnation = $2 AND linked_to IS NULL',
      [userId, incarnation],
    );
    if (rowCount !== 1) return 'never';
    await client.query('DELETE FROM artefacts WHERE account_id = $1', [userId]);
    return 'gone';
  });
}

/** Visible to anybody, since the person it was for is gone. */
export async function showDeleted(parts: AccountParts, request: Request, response: Response): Promise<void> {
  sendPage(response, 'account-deleted', await parts.commonContext({ acceptLanguage: request.get('accept-language') }));
}
