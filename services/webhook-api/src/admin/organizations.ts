/** `/admin/organizations`: every organization, for the site's admin, who may delete one with everything that belongs to it. */

import { inTransaction } from '@gatepost/runtime/transaction';
import { unparkOf } from '@gatepost/webhook-db/parked';
import type { Pool } from '@gatepost/webhook-db/pool';
import { z } from 'zod';
import { loadAccount } from '../accounts/load.ts';
import { tokenOperation } from '../http/operation.ts';
import { offsetOf, pageLinks, pageQuery } from '../http/page.ts';
import { seconds } from '../objects/time.ts';
import { successRate } from '../stats/success-rate.ts';

const count = z.int();

const listedSchema = z
  .object({
    id: z.int(),
    login: z.string(),
    created_at: z.iso.datetime(),
    paused_at: z.iso.datetime().nullable(),
    repositories: count,
    hooks: count,
    members: count,
    health: z
      .object({ delivered: count, failed: count, success_rate: z.number().nullable() })
      .meta({ description: 'Attempts in the last 24 hours' }),
  })
  .meta({ id: 'AdminOrganization' });

type Listed = {
  id: number;
  login: string;
  created_at: Date;
  paused_at: Date | null;
  repositories: number;
  hooks: number;
  members: number;
  delivered: number;
  failed: number;
};

const countsOf = (account: string) => `
  (SELECT count(*)::integer FROM repositories WHERE account_id = ${account}) AS repositories,
  (SELECT count(*)::integer FROM hooks WHERE account_id = ${account}) AS hooks,
  (SELECT count(*)::integer FROM memberships WHERE account_id = ${account}) AS members`;

/** For a page beyond the last, which has no row to carry the count. */
async function countAll(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ total: number }>('SELECT count(*)::integer AS total FROM accounts');
  return rows[0]!.total;
}

export const listOrganizations = tokenOperation({
  id: 'list-orgs',
  summary: 'List all organizations',
  query: pageQuery,
  answers: { 200: { description: 'A page of them, the oldest first', schema: z.array(listedSchema) } },
  async run({ parts: { pool }, query, url }) {
    const { rows } = await pool.query<Listed & { total: number }>(
      `SELECT a.*, ${countsOf('a.id')}, s.* FROM (
         SELECT id, login, created_at, paused_at, count(*) OVER ()::integer AS total FROM accounts ORDER BY id LIMIT $1 OFFSET $2) a
         CROSS JOIN LATERAL (
           SELECT coalesce(sum(delivered), 0)::integer AS delivered, coalesce(sum(failed), 0)::integer AS failed FROM delivery_stats
            WHERE account_id = a.id AND hook_id = 0 AND minute > now() - interval '1 day') s
        ORDER BY a.id`,
      [query.per_page, offsetOf(query)],
    );
    const body = rows.map(({ total: _total, delivered, failed, ...row }) => ({
      ...row,
      health: { delivered, failed, success_rate: successRate(delivered, failed) },
      created_at: seconds(row.created_at),
      paused_at: row.paused_at && seconds(row.paused_at),
    }));
    return { status: 200, body, headers: pageLinks(url, query, rows[0]?.total ?? (await countAll(pool))) };
  },
});

const deletionSchema = z
  .object({
    dry_run: z.boolean(),
    organization: z.string(),
    repositories: count,
    hooks: count,
    members: count,
    oauth_app_approvals: count,
    waiting: count.meta({ description: 'Waiting deliveries, which will not be made' }),
    deliveries: count.meta({ description: 'Rows of the delivery log, counted up to 100,000' }),
  })
  .meta({ id: 'OrganizationDeletion' });

const countedMax = 100_000;
const deletedAtOnce = 5_000;
const patienceMs = 2_000;

export const deleteOrganization = tokenOperation({
  id: 'delete-org',
  summary: 'Delete an organization and all that belongs to it',
  query: z.object({
    dry_run: z
      .enum(['true', 'false'])
      .optional()
      .meta({ description: '`true`: deletes nothing and answers what would be deleted' }),
  }),
  answers: {
    200: {
      description:
        'What it contains and what is deleted: its events and delivery log within the hour (of attempts in flight within two), everything else at once',
      schema: deletionSchema,
    },
  },
  async run({ parts: { pool }, params, query }) {
    const { id, login } = await loadAccount(pool, params.org);
    const { rows } = await pool.query<Record<string, number>>(
      `SELECT ${countsOf('$1::integer')},
              (SELECT count(*)::integer FROM oauth_app_approvals WHERE account_id = $1) AS oauth_app_approvals,
              (SELECT count(*)::integer FROM parked WHERE account_id = $1) AS waiting,
              (SELECT count(*)::integer FROM (SELECT FROM deliveries WHERE hook_id IN (SELECT id FROM hooks WHERE account_id = $1)
                                               LIMIT ${countedMax}) d) AS deliveries`,
      [id],
    );
    const isDry = query.dry_run === 'true';
    if (!isDry) await remove(pool, id);
    return { status: 200, body: { dry_run: isDry, organization: login, ...rows[0] } };
  },
});

/** Waiting deliveries that are not deleted in time are cancelled by the dispatchers, since their hook is gone. */
async function remove(pool: Pool, id: number): Promise<void> {
  await inTransaction(pool, async (client) => {
    await client.query('INSERT INTO erasures (account_id) VALUES ($1) ON CONFLICT DO NOTHING', [id]);
    await client.query('DELETE FROM accounts WHERE id = $1', [id]);
  });
  const untilMs = performance.now() + patienceMs;
  for (let deleted = deletedAtOnce; deleted === deletedAtOnce && performance.now() < untilMs; )
    deleted = await unparkOf(pool, id, deletedAtOnce);
}
