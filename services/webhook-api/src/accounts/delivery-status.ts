/** `GET /orgs/{org}/delivery-status`: what of an organization's deliveries waits, why and since when, for its own admins. */
import { isTimed, waits } from '@gatepost/webhook-db/parked';
import { isHeld } from '@gatepost/webhook-db/paused';
import { z } from 'zod';
import { type Counted, isHandedOver, readSince, reasonSchema, reasons } from '../admin/waiting.ts';
import { placeOperation } from '../http/operation.ts';
import { seconds } from '../objects/time.ts';
import { throttleSchema } from './throttle.ts';

const time = z.iso.datetime().nullable();
const countedMax = 10_000;
const hooksMax = 100;

const statusSchema = z
  .object({
    limit: throttleSchema,
    paused_at: time.meta({ description: 'Since when all its deliveries rest; null: they do not' }),
    paused_hooks: z.array(z.object({ id: z.int(), since: z.iso.datetime() })),
    waiting: z.array(
      z.object({
        reason: reasonSchema,
        deliveries: z.int().meta({ description: `Up to ${countedMax.toLocaleString('en')} are counted` }),
        more: z.boolean().meta({ description: 'There are more' }),
        since: time.meta({ description: 'Of the oldest' }),
        next_at: time.meta({ description: 'When the next is due; null: when its turn comes' }),
      }),
    ),
  })
  .meta({ id: 'DeliveryStatus' });

export const getDeliveryStatus = placeOperation({
  id: 'get-delivery-status',
  summary: "What of an organization's deliveries waits, why, and since when",
  answers: { 200: { description: 'The state of its deliveries', schema: statusSchema } },
  async run({ parts: { pool, throttleDefaults }, place, token }) {
    const { id } = place.account;
    const { rows: accounts } = await pool.query<{ rate: number | null; burst: number | null; paused_at: Date | null }>(
      'SELECT throttle_rate AS rate, throttle_burst AS burst, paused_at FROM accounts WHERE id = $1',
      [id],
    );
    const { rows: hooks } = await pool.query<{ id: number; since: Date }>(pausedText, [id, token.app]);
    const { rows } = await pool.query<Counted>({ name: 'count of an account', text: countText, values: [id] });
    const sinceOf = await readSince(pool, rows);
    const account = accounts[0];
    return {
      status: 200,
      body: {
        limit: { rate: account?.rate ?? throttleDefaults.rate, burst: account?.burst ?? throttleDefaults.burst },
        paused_at: account?.paused_at ? seconds(account.paused_at) : null,
        paused_hooks: hooks.map((hook) => ({ id: hook.id, since: seconds(hook.since) })),
        waiting: rows
          .toSorted((a, b) => reasons.indexOf(a.reason) - reasons.indexOf(b.reason))
          .map(({ reason, deliveries, first, next_at }) => ({
            reason,
            deliveries: Math.min(deliveries, countedMax),
            more: deliveries > countedMax,
            since: sinceOf(first),
            next_at: next_at ? seconds(next_at) : null,
          })),
      },
    };
  },
});

// Those of the organization itself that another app made are not seen (docs/reference/webhooks-api.md#scopes-and-roles).
const pausedText = `
  SELECT id, paused_at AS since FROM hooks
   WHERE account_id = $1 AND paused_at IS NOT NULL AND (repository_id IS NOT NULL OR created_by_app IS NOT DISTINCT FROM $2::text)
   ORDER BY paused_at LIMIT ${hooksMax}`;

const some = `LIMIT ${countedMax} + 1`;

/** From the indexes in which an account's rows stand together, but for what is handed over, which is little. */
const countText = `
  SELECT reason, count(*)::integer AS deliveries, min(delivery_id) AS first, min(due_at) AS next_at FROM (
    (SELECT 'limit' AS reason, delivery_id, NULL::timestamptz AS due_at FROM parked WHERE account_id = $1 AND ${waits}
      ORDER BY parked.reason DESC, delivery_id ${some})
    UNION ALL (SELECT reason, delivery_id, due_at FROM parked WHERE account_id = $1 AND ${isTimed} ${some})
    UNION ALL (SELECT 'paused', delivery_id, NULL FROM parked WHERE account_id = $1 AND ${isHeld} ${some})
    UNION ALL (SELECT 'handed_over', delivery_id, NULL FROM parked WHERE account_id = $1 AND ${isHandedOver} ${some})
  ) w GROUP BY reason`;
