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
  async run({ parts: { database }, place, query, base, url }) {
    const isAnyRole = query.role === undefined || query.role === 'all';
    const where = { accountId: place.account.id, ...(isAnyRole ? {} : { role: query.role! }) };
    const [members, total] = await Promise.all([
      database.membership.findMany({
        where,
        orderBy: { subject: 'asc' },
        take: query.per_page,
        skip: offsetOf(query),
      }),
      database.membership.count({ where }),
    ]);
    return {
      status: 200,
      body: members.map(({ subject }) => presentUser(userOfSubject(subject), base)),
      headers: pageLinks(url, query, total),
    };
  },
});
