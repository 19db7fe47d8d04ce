/**
 * Who signs up with somebody else's address has that account until its owner takes it over, by a new password that was asked for by mail. What was set up by
 * then and opens the account without that password is not the owner's: passkeys, and other providers that were linked. Second factors stay, which open
 * nothing by themselves: without them a mailbox would be enough where somebody else, an import say, has set them up.
 */
import type { Pool } from '../database.ts';
import type { FactorEvents } from '../factors/events.ts';
import type { FactorStore } from '../factors/store.ts';
import type { AccountModel } from '../generated/models.ts';
import type { TellOfChange } from '../mail/change-notice.ts';
import type { ConnectionStore } from '../settings/connections.ts';
import { labelOf } from '../upstream/offered.ts';
import { isUpstream } from '../upstream/strategies.ts';

export type FirstProofParts = {
  pool: Pool;
  connections: Pick<ConnectionStore, 'list'>;
  factors: Pick<FactorStore, 'list' | 'removeAll'>;
  factorEvents: Pick<FactorEvents, 'removed'>;
  tellOfChange: TellOfChange;
};

/** Takes them from an account whose address has just been proven for the first time, and tells its owner. Its sessions are over already. */
export async function endUnprovenWays(
  { pool, connections, factors, factorEvents, tellOfChange }: FirstProofParts,
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
    tellOfChange(
      { name: 'factor_removed', provider: labelOf(providers.find(({ name }) => name === connection)!) },
      account,
      from,
    );
  if (!methods.some(({ type }) => type === 'passkey')) return;
  await factors.removeAll(userId, ['passkey']);
  factorEvents.removed({ userId, ...from }, 'passkey');
  tellOfChange({ name: 'factor_removed', factor: 'passkey' }, account, from);
}
