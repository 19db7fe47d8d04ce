/** `GET /orgs/{org}/members`. */
import { z } from 'zod';
import { placeOperation } from '../http/operation.ts';
import { offsetOf, pageLinks, pageQuery } from '../http/page.ts';
import { presentUser, userOfSubject, userSchema } from '../objects/user.ts';

const query = pageQuery.extend({ role: z.enum(['all', 'admin', 'member']).optional() });

export const listMembers = placeOperation({
  id: 'list-members',
  summary: 'List members',
  docs: 'https://docs.github.com/rest/orgs/members#list-organization-members',
  query,
  answers: { 200: { description: 'People and machines, by `login`', schema: z.array(userSchema) } },
  async run({ parts: { pool }, place, query, base, url }) {
    const isAnyRole = query.role === undefined || query.role === 'all';
    const values = [place.account.id, isAnyRole ? null : query.role];
    const where = 'account_id = $1 AND ($2::text IS NULL OR role = $2)';
    const { rows: members } = await pool.query<{ subject: string }>(
      `SELECT subject FROM memberships WHERE ${where} ORDER BY subject LIMIT $3 OFFSET $4`,
      [...values, query.per_page, offsetOf(query)],
    );
    const { rows: counted } = await pool.query<{ total: number }>(
      `SELECT count(*)::integer AS total FROM memberships WHERE ${where}`,
      values,
    );
    return {
      status: 200,
      body: members.map(({ subject }) => presentUser(userOfSubject(subject), base)),
      headers: pageLinks(url, query, counted[0]!.total),
    };
  },
});
