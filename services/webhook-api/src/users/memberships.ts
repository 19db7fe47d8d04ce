/** `GET /user/memberships/orgs` and `GET /user/orgs`: the caller's organizations, except those that restrict the caller's application. */
import type { Queryable } from '@gatepost/webhook-db/pool';
import { z } from 'zod';
import type { Role } from '../access/place.ts';
import type { Token } from '../access/token.ts';
import { membershipSchema, presentMembership } from '../accounts/memberships.ts';
import { tokenOperation } from '../http/operation.ts';
import { offsetOf, type PageQuery, pageLinks, pageQuery } from '../http/page.ts';
import { presentSimpleOrganization, simpleOrganizationSchema } from '../objects/organization.ts';
import { isOpenToApp } from './shared.ts';

type Row = { id: number; login: string; created_at: Date; role: Role };

const query = pageQuery.extend({
  state: z.enum(['active', 'pending']).optional().meta({ description: 'Nobody is invited here, so none is pending' }),
});

export const listOwnMemberships = tokenOperation({
  id: 'list-memberships-for-authenticated-user',
  summary: "List the caller's memberships",
  docs: 'https://docs.github.com/rest/orgs/members#list-organization-memberships-for-the-authenticated-user',
  query,
  answers: { 200: { description: 'Memberships, oldest organization first', schema: z.array(membershipSchema) } },
  async run({ parts: { reads }, token, query, base, url }) {
    if (query.state === 'pending') return { status: 200, body: [] };
    const { rows, total } = await listRows(reads, token, query);
    return {
      status: 200,
      body: rows.map(({ id, login, created_at: createdAt, role }) =>
        presentMembership({ id, login, createdAt }, token.subject, role, base),
      ),
      headers: pageLinks(url, query, total),
    };
  },
});

export const listOwnOrganizations = tokenOperation({
  id: 'list-for-authenticated-user',
  summary: "List the caller's organizations",
  docs: 'https://docs.github.com/rest/orgs/orgs#list-organizations-for-the-authenticated-user',
  query: pageQuery,
  answers: { 200: { description: 'Organizations, the oldest first', schema: z.array(simpleOrganizationSchema) } },
  async run({ parts: { reads }, token, query, base, url }) {
    const { rows, total } = await listRows(reads, token, query);
    return {
      status: 200,
      body: rows.map((account) => presentSimpleOrganization(account, base)),
      headers: pageLinks(url, query, total),
    };
  },
});

async function listRows(reads: Queryable, token: Token, page: PageQuery): Promise<{ rows: Row[]; total: number }> {
  const { rows } = await reads.query<Row & { total: number }>({
    name: 'own memberships',
    text: `WITH mine AS (
             SELECT a.id, a.login, a.created_at, m.role FROM memberships m JOIN accounts a ON a.id = m.account_id
              WHERE m.subject = $1 AND ${isOpenToApp})
           SELECT mine.*, t.total FROM (SELECT count(*)::integer AS total FROM mine) t
             LEFT JOIN LATERAL (SELECT * FROM mine ORDER BY id LIMIT $3 OFFSET $4) mine ON true ORDER BY mine.id`,
    values: [token.subject, token.app, page.per_page, offsetOf(page)],
  });
  return { rows: rows.filter(({ id }) => id !== null), total: rows[0]!.total };
}
