/** Which OAuth applications an organization has approved; kept while the policy is off. */
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
  async run({ parts: { pool }, place, query, url }) {
    const { rows } = await pool.query<{ client_id: string; approved_at: Date }>(
      'SELECT client_id, approved_at FROM oauth_app_approvals WHERE account_id = $1 ORDER BY client_id LIMIT $2 OFFSET $3',
      [place.account.id, query.per_page, offsetOf(query)],
    );
    const { rows: counted } = await pool.query<{ total: number }>(
      'SELECT count(*)::integer AS total FROM oauth_app_approvals WHERE account_id = $1',
      [place.account.id],
    );
    return {
      status: 200,
      body: rows.map(({ client_id, approved_at }) => ({ client_id, approved_at: seconds(approved_at) })),
      headers: pageLinks(url, query, counted[0]!.total),
    };
  },
});

export const approve = placeOperation({
  id: 'approve-oauth-app',
  summary: 'Approve an OAuth application',
  answers: { 204: { description: 'Approved' } },
  async run({ parts: { pool }, place, params }) {
    const clientId = identifierIn(params, 'client_id');
    await pool.query('INSERT INTO oauth_app_approvals (account_id, client_id) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
      place.account.id,
      clientId,
    ]);
    return { status: 204 };
  },
});

export const revokeApproval = placeOperation({
  id: 'revoke-oauth-app-approval',
  summary: 'Withdraw an approval',
  answers: { 204: { description: 'Withdrawn' } },
  async run({ parts: { pool }, place, params }) {
    const { rowCount } = await pool.query('DELETE FROM oauth_app_approvals WHERE account_id = $1 AND client_id = $2', [
      place.account.id,
      identifierIn(params, 'client_id'),
    ]);
    if (rowCount === 0) throw notFound();
    return { status: 204 };
  },
});
