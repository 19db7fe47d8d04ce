/** `GET /user/memberships/orgs`: the caller's organizations, except those that restrict the caller's application. */
import { z } from 'zod';
import { membershipSchema, presentMembership } from '../accounts/memberships.ts';
import { tokenOperation } from '../http/operation.ts';
import { offsetOf, pageLinks, pageQuery } from '../http/page.ts';
import { isOpenToApp } from './shared.ts';

type Row = { id: number; login: string; created_at: Date; role: 'admin' | 'member'; total: number };

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
    const { rows } = await reads.query<Row>({
      name: 'own memberships',
      text: `WITH mine AS (
               SELECT a.id, a.login, a.created_at, m.role FROM memberships m JOIN accounts a ON a.id = m.account_id
                WHERE m.subject = $1 AND ${isOpenToApp})
             SELECT mine.*, t.total FROM (SELECT count(*)::integer AS total FROM mine) t
               LEFT JOIN LATERAL (SELECT * FROM mine ORDER BY id LIMIT $3 OFFSET $4) mine ON true ORDER BY mine.id`,
      values: [token.subject, token.app, query.per_page, offsetOf(query)],
    });
    const found = rows.filter(({ id }) => id !== null);
    return {
      status: 200,
      body: found.map(({ id, login, created_at: createdAt, role }) =>
        presentMembership({ id, login, createdAt }, token.subject, role, base),
      ),
      headers: pageLinks(url, query, rows[0]!.total),
    };
  },
});
