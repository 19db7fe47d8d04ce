/** `POST …/deliveries/{delivery_id}/attempts`: the same event to the same hook, as a new delivery. */

import { jobBodyMaxBytes } from '@gatepost/contracts/delivery-job';
import { findPayloadOfJob } from '@gatepost/webhook-db/event-payloads';
import type { Pool } from '@gatepost/webhook-db/pool';
import { ownSource } from '@gatepost/webhook-db/requested';
import { z } from 'zod';
import { githubDocs } from '../hooks/documentation.ts';
import { loadHook } from '../hooks/rows.ts';
import { hasSenderProof } from '../hooks/trigger.ts';
import { validationFailed } from '../http/errors.ts';
import { placeOperation } from '../http/operation.ts';
import { parseDeliveryId, parseHookId } from '../http/path-ids.ts';
import { checkConnected, parkDelivery, publishDelivery } from '../publish.ts';
import { type DeliveryDetailRow, loadRow } from './rows.ts';

export const redeliver = placeOperation({
  id: 'redeliver-webhook-delivery',
  summary: 'Redeliver a delivery',
  docs: githubDocs('redeliver-a-delivery-for-a-repository-webhook', 'redeliver-a-delivery-for-an-organization-webhook'),
  answers: {
    202: { description: 'It is on its way', schema: z.object({}) },
    422: { description: 'The hook is not active, the payload is no longer kept, or the event was made up' },
  },
  async run({ parts, place, wanted, token, params, checkTime }) {
    const { pool } = parts;
    const id = parseHookId(params);
    const delivery = parseDeliveryId(params);
    const hook = await loadHook(pool, place, token, id);
    const row = await loadRow(pool, { token, wanted, hookId: id }, delivery);
    // Only an active hook produces deliveries; 202 would promise one.
    if (!hook.active || hook.restricted) throw refuse('Hook is not active');
    const payload = await findPayloadOfJob(pool, row.event_key, row.event_on, jobBodyMaxBytes);
    if (!payload || !row.occurred_at) throw refuse('The payload of this delivery is no longer kept');
    if ((hook.secret || hasSenderProof(hook)) && (await isMadeUp(pool, row)))
      throw refuse(
        hasSenderProof(hook)
          ? 'Somebody made this event up, and the hook has request headers or a user name in its URL'
          : 'Somebody made this event up: whoever knows the secret of the hook triggers it anew',
      );
    checkConnected(parts.publisher);
    checkTime();
    const job = await parkDelivery(pool, {
      guid: row.guid,
      hookId: id,
      event: row.event,
      action: row.action,
      eventKey: row.event_key,
      eventOn: row.event_on,
      accountId: row.account_id,
      repositoryId: row.repository_id,
      occurredAt: row.occurred_at.toISOString(),
      attempt: 1,
      ...(row.sequence !== null && { sequence: Number(row.sequence) }),
      redelivery: true,
      throttledAt: null,
      retries: row.event !== 'ping',
    });
    await publishDelivery(parts, job, payload, checkTime);
    return { status: 202, body: {} };
  },
});

/** It would go out under the hook's present secret and headers, which its author need not know (hooks/trigger.ts). */
async function isMadeUp(pool: Pool, { event, event_key, event_on, sequence }: DeliveryDetailRow): Promise<boolean> {
  if (event === 'ping' || sequence !== null) return false;
  const { rows } = await pool.query<{ source: string }>(
    'SELECT source FROM events WHERE key = $1 AND received_on = $2',
    [event_key, event_on],
  );
  return rows[0]?.source === ownSource;
}

const refuse = (message: string) => validationFailed({ resource: 'Delivery', code: 'unprocessable', message });
