/** `POST …/deliveries/{delivery_id}/attempts`: the same event to the same hook, as a new delivery. */
import { z } from 'zod';
import { githubDocs } from '../hooks/documentation.ts';
import { hookId } from '../hooks/hook-id.ts';
import { findRow as findHook } from '../hooks/rows.ts';
import { notFound, validationFailed } from '../http/errors.ts';
import { placeOperation } from '../http/operation.ts';
import { checkConnected, parkDelivery, publishDelivery } from '../publish.ts';
import { deliveryId } from './delivery-id.ts';
import { findPayload, loadRow } from './rows.ts';

export const redeliver = placeOperation({
  id: 'redeliver-webhook-delivery',
  summary: 'Deliver once more',
  docs: githubDocs('redeliver-a-delivery-for-a-repository-webhook', 'redeliver-a-delivery-for-an-organization-webhook'),
  answers: {
    202: { description: 'It is on its way', schema: z.object({}) },
    422: { description: 'The hook is not active, or the payload is kept no longer' },
  },
  async run({ parts, place, wanted, token, params }) {
    const { pool } = parts;
    const id = hookId(params);
    const delivery = deliveryId(params);
    const hook = await findHook(pool, place, token, id);
    if (!hook) throw notFound();
    const row = await loadRow(pool, { token, wanted, hookId: id }, delivery);
    // Only an active hook produces deliveries; 202 would promise one.
    if (!hook.active || hook.restricted) throw refuse('Hook is not active');
    const payload = await findPayload(pool, row);
    if (!payload || !row.occurred_at) throw refuse('The payload of this delivery is kept no longer');
    checkConnected(parts.publisher);
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
    await publishDelivery(parts, job, payload);
    return { status: 202, body: {} };
  },
});

const refuse = (message: string) => validationFailed({ resource: 'Delivery', code: 'unprocessable', message });
