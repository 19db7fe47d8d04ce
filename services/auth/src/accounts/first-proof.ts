/**
 * Somebody who signs up with another person's address has that account until its owner takes it over, by a new password requested by mail. Anything
 * set up until then that opens the account without that password is not the owner's: passkeys and linked providers. Second factors stay, since
 * they open nothing by themselves: if somebody else (an import, say) set them up, a mailbox would otherwise be enough to get in.
 */
import type { Prisma } from '../database.ts';
import type { FactorEvents } from '../factors/events.ts';
import type { AccountModel } from '../generated/models.ts';
import type { NotifyOfChange } from '../mail/change-notice.ts';
import type { ConnectionStore } from '../settings/connections.ts';
import { labelOf } from '../upstream/offered.ts';
import { strategies } from '../upstream/strategies.ts';

export type FirstProofParts = {
  connections: Pick<ConnectionStore, 'list'>;
  factorEvents: Pick<FactorEvents, 'removed'>;
  notifyOfChange: NotifyOfChange;
};

export type RemovedSignIns = { connections: string[]; passkeys: number };

/** In the transaction that proves the account's address for the first time, after that write, which locks the account. */
export async function removeUnverifiedSignIns(
  transaction: Prisma.TransactionClient,
  userId: string,
): Promise<RemovedSignIns> {
  const unlinked = await transaction.$queryRaw<{ connection: string }[]>`
    UPDATE accounts SET linked_to = NULL, updated_at = now()
     WHERE linked_to = ${userId} AND connection IN (SELECT name FROM connections WHERE strategy = ANY (${Object.keys(strategies)}))
     RETURNING connection`;
  const { count } = await transaction.authenticationMethod.deleteMany({ where: { userId, type: 'passkey' } });
  return { connections: unlinked.map(({ connection }) => connection), passkeys: count };
}

/** Tells the owner, once it is committed. */
export async function reportRemovedSignIns(
  { connections, factorEvents, notifyOfChange }: FirstProofParts,
  account: AccountModel,
  removed: RemovedSignIns,
  from: { ip: string },
): Promise<void> {
  const known = await connections.list();
  for (const name of removed.connections) {
    const connection = known.find((each) => each.name === name);
    if (connection) notifyOfChange({ name: 'factor_removed', provider: labelOf(connection) }, account, from);
  }
  if (removed.passkeys === 0) return;
  factorEvents.removed({ userId: account.userId, ...from }, 'passkey');
  notifyOfChange({ name: 'factor_removed', factor: 'passkey' }, account, from);
}
