/**
 * `/admin/organizations/{org}/pause` and `/admin/hooks/{hook_id}/pause`: pauses the deliveries of an organization or a hook; meanwhile they wait
 * in PostgreSQL, and go out in order once resumed.
 */

import { inTransaction } from '@gatepost/runtime/transaction';
import { pauseDeliveries, resumeDeliveries } from '@gatepost/webhook-db/paused';
import type { Pool } from '@gatepost/webhook-db/pool';
import { z } from 'zod';
import { loadAccount } from '../accounts/load.ts';
import { notFound } from '../http/errors.ts';
import { tokenOperation } from '../http/operation.ts';
import { parseHookId } from '../http/path-ids.ts';
import { seconds } from '../objects/time.ts';

/** Rows per statement, and how long a request continues; the dispatchers handle the rest. */
const most = 5_000;
const patienceMs = 2_500;

const pauseSchema = z
  .object({
    paused_at: z.iso.datetime().nullable().meta({ description: 'null: it is not paused' }),
    deliveries: z.int().meta({ description: 'How many waiting deliveries this paused, or resumed' }),
  })
  .meta({ id: 'Pause' });

const answers = { 200: { description: 'Since when it is paused', schema: pauseSchema } };

type Paused = { accountId: number; hookId?: number };

export const pauseOrganization = tokenOperation({
  id: 'pause-org',
  summary: "Pause an organization's deliveries",
  answers,
  async run({ parts: { pool }, params }) {
    const { id } = await loadAccount(pool, params.org);
    return pause(pool, 'accounts', id, { accountId: id });
  },
});

export const resumeOrganization = tokenOperation({
  id: 'resume-org',
  summary: "Resume an organization's deliveries",
  answers,
  async run({ parts: { pool }, params }) {
    const { id } = await loadAccount(pool, params.org);
    return resume(pool, 'accounts', id, id);
  },
});

export const pauseHook = tokenOperation({
  id: 'pause-hook',
  summary: "Pause a webhook's deliveries",
  answers,
  async run({ parts: { pool }, params }) {
    const { id, accountId } = await loadHook(pool, params);
    return pause(pool, 'hooks', id, { accountId, hookId: id });
  },
});

export const resumeHook = tokenOperation({
  id: 'resume-hook',
  summary: "Resume a webhook's deliveries",
  answers,
  async run({ parts: { pool }, params }) {
    const { id, accountId } = await loadHook(pool, params);
    return resume(pool, 'hooks', id, accountId);
  },
});

async function loadHook(pool: Pool, params: Record<string, string>): Promise<{ id: number; accountId: number }> {
  const id = parseHookId(params);
  const { rows } = await pool.query<{ id: number; accountId: number }>(
    'SELECT id, account_id AS "accountId" FROM hooks WHERE id = $1',
    [id],
  );
  if (!rows[0]) throw notFound();
  return rows[0];
}

async function pause(pool: Pool, table: 'accounts' | 'hooks', id: number, paused: Paused) {
  const { rows } = await pool.query<{ at: Date }>(
    `UPDATE ${table} SET paused_at = coalesce(paused_at, now()) WHERE id = $1 RETURNING paused_at AS at`,
    [id],
  );
  if (!rows[0]) throw notFound();
  const deliveries = await inSteps(0, () => pauseDeliveries(pool, paused, most));
  return { status: 200, body: { paused_at: seconds(rows[0].at), deliveries } };
}

/** Resumes the first deliveries in the same transaction that stops pausing new ones, so that no new one overtakes them. */
async function resume(pool: Pool, table: 'accounts' | 'hooks', id: number, accountId: number) {
  const first = await inTransaction(pool, async (client) => {
    await client.query(`UPDATE ${table} SET paused_at = NULL WHERE id = $1`, [id]);
    return resumeDeliveries(client, accountId, most);
  });
  const deliveries = await inSteps(first, () => resumeDeliveries(pool, accountId, most));
  return { status: 200, body: { paused_at: null, deliveries } };
}

/** Repeats a step until it handles less than a full one, or time is up. `done`: the count so far. */
async function inSteps(done: number, step: () => Promise<number>): Promise<number> {
  const untilMs = performance.now() + patienceMs;
  for (let sum = done; ; ) {
    const more = await step();
    sum += more;
    if (more < most || performance.now() > untilMs) return sum;
  }
}
