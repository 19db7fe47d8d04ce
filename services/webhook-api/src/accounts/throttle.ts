/** `/accounts/{login}/throttle`: the rate of an account's deliveries. The dispatcher learns of a change at once. */
import type { Pool } from '@gatepost/webhook-db/pool';
import { z } from 'zod';
import { tokenOperation } from '../http/operation.ts';
import { loadAccount } from './load.ts';

const positive = z.number().positive('is not a positive number').max(1e9, 'is too large');

export const throttleSchema = z
  .object({
    rate: positive.meta({ description: 'Deliveries per second' }),
    burst: positive.meta({ description: 'Deliveries at once after a quiet time' }),
  })
  .meta({ id: 'Throttle' });

type Throttle = z.infer<typeof throttleSchema>;

/** What an account does not set is the default. */
export const limitOf = (
  own: { rate: number | null; burst: number | null } | undefined,
  defaults: Throttle,
): Throttle => ({
  rate: own?.rate ?? defaults.rate,
  burst: own?.burst ?? defaults.burst,
});

export const getThrottle = tokenOperation({
  id: 'get-throttle',
  summary: "Get an account's limit, its own or the default",
  answers: { 200: { description: 'The limit', schema: throttleSchema } },
  async run({ parts: { pool, throttleDefaults }, params }) {
    const { throttleRate, throttleBurst } = await loadAccount(pool, params.login);
    return { status: 200, body: limitOf({ rate: throttleRate, burst: throttleBurst }, throttleDefaults) };
  },
});

export const setThrottle = tokenOperation({
  id: 'set-throttle',
  summary: 'Give an account its own limit',
  body: throttleSchema,
  answers: { 200: { description: 'The limit', schema: throttleSchema } },
  async run({ parts: { pool }, params, body: { rate, burst } }) {
    await store(pool, params.login, { rate, burst });
    return { status: 200, body: { rate, burst } };
  },
});

export const removeThrottle = tokenOperation({
  id: 'remove-throttle',
  summary: 'Return an account to the default limit',
  answers: { 204: { description: 'The default applies' } },
  async run({ parts: { pool }, params }) {
    await store(pool, params.login, { rate: null, burst: null });
    return { status: 204 };
  },
});

type Limit = { rate: number | null; burst: number | null };

async function store(pool: Pool, login: string | undefined, { rate, burst }: Limit): Promise<void> {
  const { id } = await loadAccount(pool, login);
  await pool.query('UPDATE accounts SET throttle_rate = $2, throttle_burst = $3 WHERE id = $1', [id, rate, burst]);
}
