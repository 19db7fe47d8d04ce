/** `GET /orgs/{org}/members`, and of one whether it is a member. */
import { z } from 'zod';
import { notFound } from '../http/errors.ts';
import { placeOperation } from '../http/operation.ts';
import { offsetOf, pageLinks, pageQuery } from '../http/page.ts';
import { presentUser, userOfSubject, userSchema } from '../objects/user.ts';
import { findRole } from './memberships.ts';
import { identifierIn } from './name.ts';

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

export const checkMember = placeOperation({
  id: 'check-membership-for-user',
  summary: 'Check whether a person or a machine is a member',
  docs: 'https://docs.github.com/rest/orgs/members#check-organization-membership-for-a-user',
  answers: { 204: { description: 'A member' } },
  async run({ parts: { reads }, place, params }) {
    if (!(await findRole(reads, place.account.id, identifierIn(params, 'username')))) throw notFound();
    return { status: 204 };
  },
});
