/** `/accounts/{login}/throttle`: how fast deliveries of an account go out. The dispatcher hears of a change at once. */

import type { Account, Database } from '@gatepost/webhook-db/client';
import { z } from 'zod';
import { notFound } from '../http/errors.ts';
import { tokenOperation } from '../http/operation.ts';

const positive = z.number().positive('is not a positive number').max(1e9, 'is too large');

export const throttleSchema = z
  .object({
    rate: positive.meta({ description: 'Deliveries per second' }),
    burst: positive.meta({ description: 'Deliveries at once after a rest' }),
  })
  .meta({ id: 'Throttle' });

export const getThrottle = tokenOperation({
  id: 'get-throttle',
  summary: "Get an account's limit, its own or the default",
  answers: { 200: { description: 'The limit', schema: throttleSchema } },
  async run({ parts: { database, throttleDefaults }, params }) {
    const { throttleRate, throttleBurst } = await loadAccount(database, params);
    return {
      status: 200,
      body: { rate: throttleRate ?? throttleDefaults.rate, burst: throttleBurst ?? throttleDefaults.burst },
    };
  },
});

export const setThrottle = tokenOperation({
  id: 'set-throttle',
  summary: 'Give an account its own limit',
  body: throttleSchema,
  answers: { 200: { description: 'The limit', schema: throttleSchema } },
  async run({ parts: { database }, params, body: { rate, burst } }) {
    await store(database, params, { throttleRate: rate, throttleBurst: burst });
    return { status: 200, body: { rate, burst } };
  },
});

export const removeThrottle = tokenOperation({
  id: 'remove-throttle',
  summary: 'Put an account under the default limit',
  answers: { 204: { description: 'The default holds' } },
  async run({ parts: { database }, params }) {
    await store(database, params, { throttleRate: null, throttleBurst: null });
    return { status: 204 };
  },
});

type Limit = { throttleRate: number | null; throttleBurst: number | null };

async function store(database: Database, params: Record<string, string>, limit: Limit): Promise<void> {
  const { id } = await loadAccount(database, params);
  await database.account.update({ where: { id }, data: limit });
}

async function loadAccount(database: Database, params: Record<string, string>): Promise<Account> {
  const login = params.login ?? '';
  if (!/^[A-Za-z0-9._-]{1,100}$/.test(login)) throw notFound();
  const [account] = await database.$queryRaw<Account[]>`
    SELECT id, login, throttle_rate AS "throttleRate", throttle_burst AS "throttleBurst" FROM accounts
     WHERE lower(login) = lower(${login})`;
  if (!account) throw notFound();
  return account;
}
