/**
 * Events made up for one hook (`POST …/triggers` of the webhook API). The caller knew the hook's secret at that moment, or there was none; a
 * delivery may wait, say for its account's limit, until the hook has another. It is then neither signed with the new secret nor sent with the
 * hook's own headers: nobody may say something by means of secrets he does not know.
 */
import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import type { Pool } from '@gatepost/webhook-db/pool';
import { ownSource } from '@gatepost/webhook-db/requested';
import type { Hook } from '../hook.ts';

type Signed = Pick<Hook, 'keys' | 'previousKeys' | 'headers' | 'authorization' | 'changedAtMs'>;

/** The hook to build the request from: without its secrets if they may differ from those the caller knew. */
export async function withoutLaterSecrets<H extends Signed>(
  pool: Pool,
  { event, sequence, eventKey, eventOn, occurredAt }: DeliveryJob,
  hook: H,
): Promise<H> {
  // Events published by producers are numbered; the content of pings is our own.
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
