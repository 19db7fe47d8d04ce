/** `GET …/deliveries/{delivery_id}`: what was sent and what came back. */

import { githubDocs } from '../hooks/documentation.ts';
import { hookId } from '../hooks/hook-id.ts';
import { isThere } from '../hooks/rows.ts';
import { notFound } from '../http/errors.ts';
import { placeOperation } from '../http/operation.ts';
import { deliveryId } from './delivery-id.ts';
import { deliveryDetailSchema, presentDetail } from './present.ts';
import { findPayload, findRow } from './rows.ts';

export const getDelivery = placeOperation({
  id: 'get-webhook-delivery',
  summary: 'Get a delivery',
  docs: githubDocs('get-a-delivery-for-a-repository-webhook', 'get-a-webhook-delivery-for-an-organization-webhook'),
  answers: { 200: { description: 'The delivery', schema: deliveryDetailSchema } },
  async run({ parts: { pool }, place, token, params }) {
    const id = hookId(params);
    const delivery = deliveryId(params);
    if (!(await isThere(pool, place, token, id))) throw notFound();
    const row = await findRow(pool, id, delivery);
    if (!row) throw notFound();
    return { status: 200, json: presentDetail(row, await findPayload(pool, row)) };
  },
});
