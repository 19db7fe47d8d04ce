/**
 * A session remembers that it began at another provider, so that `connection=` need not ask there again and a federated logout ends
 * the session there too. Between the provider's answer and the session this is kept in the interaction, sealed.
 */
import type { Seal } from '@gatepost/runtime/seal';
import type { Interaction } from '../interaction/interaction.ts';
import type { StoredUpstream } from '../library/sessions.ts';

export type UpstreamSession = { accountId: string; connection: string; idToken?: string | undefined };

const purpose = 'upstream session';
/** Longer hints are dropped: a session is read with each request. */
const hintMax = 4_096;

export async function rememberUpstream(
  { details, parts }: Interaction,
  { accountId, connection, idToken }: UpstreamSession,
): Promise<void> {
  const keeps = idToken !== undefined && idToken.length <= hintMax;
  const hint = keeps ? { hint: parts.seal.seal(idToken, purpose).toString('base64') } : {};
  (details as { upstream?: StoredUpstream }).upstream = { accountId, connection, ...hint };
  await details.persist();
}

export function openHint({ hint }: StoredUpstream, seal: Seal): string | undefined {
  try {
    return hint && seal.open(Buffer.from(hint, 'base64'), purpose);
  } catch {
    return undefined; // sealed under a key that is gone
  }
}
