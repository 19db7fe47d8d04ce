/**
 * Somebody who signs up with another person's address has that account until its owner takes it over, by a new password requested by mail. Anything
 * set up until then that opens the account without that password is not the owner's: passkeys and linked providers. Second factors stay, since
 * they open nothing by themselves: if somebody else (an import, say) set them up, a mailbox would otherwise be enough to get in.
 */
import type { Pool } from '../database.ts';
import type { FactorEvents } from '../factors/events.ts';
import type { FactorStore } from '../factors/store.ts';
import type { AccountModel } from '../generated/models.ts';
import type { NotifyOfChange } from '../mail/change-notice.ts';
import type { ConnectionStore } from '../settings/connections.ts';
import { labelOf } from '../upstream/offered.ts';
import { isUpstream } from '../upstream/strategies.ts';

export type FirstProofParts = {
  pool: Pool;
  connections: Pick<ConnectionStore, 'list'>;
  factors: Pick<FactorStore, 'list' | 'removeAll'>;
  factorEvents: Pick<FactorEvents, 'removed'>;
  notifyOfChange: NotifyOfChange;
};

/** Removes them from an account whose address has just been proven for the first time, and tells the owner. Its sessions have already ended. */
export async function removeUnverifiedSignIns(
  { pool, connections, factors, factorEvents, notifyOfChange }: FirstProofParts,
  account: AccountModel,
  from: { ip: string },
): Promise<void> {
  const { userId } = account;
  const providers = (await connections.list()).filter(({ strategy }) => isUpstream(strategy));
  const [{ rows: unlinked }, methods] = await Promise.all([
    pool.query<{ connection: string }>(
      `UPDATE accounts SET linked_to = NULL, updated_at = now() WHERE linked_to = $1 AND connection = ANY ($2) RETURNING connection`,
      [userId, providers.map(({ name }) => name)],
    ),
    factors.list(userId),
  ]);
  for (const { connection } of unlinked)
    notifyOfChange(
      { name: 'factor_removed', provider: labelOf(providers.find(({ name }) => name === connection)!) },
      account,
      from,
    );
  if (!methods.some(({ type }) => type === 'passkey')) return;
  await factors.removeAll(userId, ['passkey']);
  factorEvents.removed({ userId, ...from }, 'passkey');
  notifyOfChange({ name: 'factor_removed', factor: 'passkey' }, account, from);
}
