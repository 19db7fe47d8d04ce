/**
 * Events that somebody made up for one hook (`POST …/triggers` of the webhook API). Whoever did so knew the hook's secret of that moment, or it had none; a
 * delivery may wait, for its account's limit say, until the hook has another. Under that it is not signed, nor does it carry the hook's own headers: nobody is
 * to say something by what he does not know.
 */
import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import { ownSource } from '@gatepost/webhook-db/asked';
import type { Pool } from '@gatepost/webhook-db/pool';
import type { Hook } from '../accounts.ts';

type Signed = Pick<Hook, 'keys' | 'previousKeys' | 'headers' | 'authorization' | 'changedAtMs'>;

/** The hook as the request is made of it: without its secrets where these may be others than whoever made the event up knew. */
export async function asWhoeverAskedKnew<H extends Signed>(
  pool: Pool,
  { event, sequence, eventKey, eventOn, occurredAt }: DeliveryJob,
  hook: H,
): Promise<H> {
  // What producers publish is numbered; pings hold what we say ourselves.
  if (sequence !== undefined || event === 'ping') return hook;
  const hasSecrets = hook.keys || hook.authorization !== null || Object.keys(hook.headers).length > 0;
  if (!hasSecrets || hook.changedAtMs < Date.parse(occurredAt)) return hook;
  const { rows } = await pool.query<{ source: string }>({
    name: 'source of an event',
    text: 'SELECT source FROM events WHERE key = $1 AND received_on = $2',
    values: [eventKey, eventOn],
  });
  const isMadeUp = rows[0]?.source === ownSource;
  return isMadeUp ? { ...hook, keys: null, previousKeys: null, headers: {}, authorization: null } : hook;
}
