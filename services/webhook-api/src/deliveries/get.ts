/** `GET …/deliveries/{delivery_id}`: what was sent and what came back. */
import { findPayload } from '@gatepost/webhook-db/event-payloads';
import type { Pool } from '@gatepost/webhook-db/pool';
import { githubDocs } from '../hooks/documentation.ts';
import { enteringOperation } from '../http/operation.ts';
import { parseDeliveryId, parseHookId } from '../http/path-ids.ts';
import { deliveryDetailSchema, writeDetail } from './present.ts';
import { loadRow } from './rows.ts';
import { readLog } from './seen.ts';

export const getDelivery = enteringOperation({
  id: 'get-webhook-delivery',
  summary: 'Get a delivery',
  docs: githubDocs('get-a-delivery-for-a-repository-webhook', 'get-a-webhook-delivery-for-an-organization-webhook'),
  answers: {
    200: { description: 'The delivery', schema: deliveryDetailSchema },
    422: { description: 'That is not the id of a delivery' },
  },
  async run({ parts, wanted, token, params }) {
    const log = { token, wanted, hookId: parseHookId(params) };
    const id = parseDeliveryId(params);
    const load = async (pool: Pool) => {
      const row = await loadRow(pool, log, id);
      return writeDetail(row, await findPayload(pool, row.event_key, row.event_on));
    };
    const { value, headers } = await readLog(parts, log, load, () => load(parts.pool));
    return { status: 200, json: value, headers };
  },
});
