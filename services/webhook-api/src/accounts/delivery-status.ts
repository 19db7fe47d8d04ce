/** `GET /orgs/{org}/delivery-status`: which of an organization's deliveries wait, why and since when, for its own admins. */
import { z } from 'zod';
import { placeOperation } from '../http/operation.ts';
import { seconds } from '../objects/time.ts';
import { countedWaitingSchema, countWaiting } from '../waiting/count.ts';
import { limitOf, throttleSchema } from './throttle.ts';

const time = z.iso.datetime().nullable();
const hooksMax = 100;

const statusSchema = z
  .object({
    limit: throttleSchema,
    paused_at: time.meta({ description: 'Since when all its deliveries have been paused; null: they are not' }),
    paused_hooks: z.array(z.object({ id: z.int(), since: z.iso.datetime() })),
    waiting: z.array(countedWaitingSchema),
  })
  .meta({ id: 'DeliveryStatus' });

export const getDeliveryStatus = placeOperation({
  id: 'get-delivery-status',
  summary: "Get which of an organization's deliveries wait, why, and since when",
  answers: { 200: { description: 'The state of its deliveries', schema: statusSchema } },
  async run({ parts: { pool, throttleDefaults }, place, token }) {
    const { id } = place.account;
    const { rows: accounts } = await pool.query<{ rate: number | null; burst: number | null; paused_at: Date | null }>(
      'SELECT throttle_rate AS rate, throttle_burst AS burst, paused_at FROM accounts WHERE id = $1',
      [id],
    );
    const { rows: hooks } = await pool.query<{ id: number; since: Date }>(pausedText, [id, token.app]);
    const account = accounts[0];
    return {
      status: 200,
      body: {
        limit: limitOf(account, throttleDefaults),
        paused_at: account?.paused_at ? seconds(account.paused_at) : null,
        paused_hooks: hooks.map((hook) => ({ id: hook.id, since: seconds(hook.since) })),
        waiting: await countWaiting(pool, id),
      },
    };
  },
});

// Excludes the organization's hooks made by another app (docs/reference/webhooks-api.md#scopes-and-roles).
const pausedText = `
  SELECT id, paused_at AS since FROM hooks
   WHERE account_id = $1 AND paused_at IS NOT NULL AND (repository_id IS NOT NULL OR created_by_app IS NOT DISTINCT FROM $2::text)
   ORDER BY paused_at LIMIT ${hooksMax}`;
