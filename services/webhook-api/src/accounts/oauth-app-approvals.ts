/** Which OAuth applications an organization approved; kept while the policy is off. */
import { z } from 'zod';
import { notFound } from '../http/errors.ts';
import { placeOperation } from '../http/operation.ts';
import { offsetOf, pageLinks, pageQuery } from '../http/page.ts';
import { seconds } from '../objects/time.ts';
import { identifierIn } from './name.ts';

const approvalSchema = z
  .object({ client_id: z.string(), approved_at: z.iso.datetime() })
  .meta({ id: 'OauthAppApproval' });

export const listApprovals = placeOperation({
  id: 'list-oauth-app-approvals',
  summary: 'List approved OAuth applications',
  query: pageQuery,
  answers: { 200: { description: 'Approvals, by client id', schema: z.array(approvalSchema) } },
  async run({ parts: { database }, place, query, url }) {
    const where = { accountId: place.account.id };
    const [approvals, total] = await Promise.all([
      database.oauthAppApproval.findMany({
        where,
        orderBy: { clientId: 'asc' },
        take: query.per_page,
        skip: offsetOf(query),
      }),
      database.oauthAppApproval.count({ where }),
    ]);
    return {
      status: 200,
      body: approvals.map(({ clientId, approvedAt }) => ({ client_id: clientId, approved_at: seconds(approvedAt) })),
      headers: pageLinks(url, query, total),
    };
  },
});

export const approve = placeOperation({
  id: 'approve-oauth-app',
  summary: 'Approve an OAuth application',
  answers: { 204: { description: 'Approved' } },
  async run({ parts: { database }, place, params }) {
    const clientId = identifierIn(params, 'client_id');
    // One statement: Prisma would look first, and of two approvals at once one would fail.
    await database.$executeRaw`
      INSERT INTO oauth_app_approvals (account_id, client_id) VALUES (${place.account.id}, ${clientId}) ON CONFLICT DO NOTHING`;
    return { status: 204 };
  },
});

export const revokeApproval = placeOperation({
  id: 'revoke-oauth-app-approval',
  summary: 'Take an approval back',
  answers: { 204: { description: 'Taken back' } },
  async run({ parts: { database }, place, params }) {
    const where = { accountId: place.account.id, clientId: identifierIn(params, 'client_id') };
    const { count } = await database.oauthAppApproval.deleteMany({ where });
    if (count === 0) throw notFound();
    return { status: 204 };
  },
});
