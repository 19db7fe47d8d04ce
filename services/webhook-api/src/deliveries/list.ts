/** `GET …/hooks/{hook_id}/deliveries`: newest first, paged by cursor, so that new deliveries shift nothing. */
import { z } from 'zod';
import { githubDocs } from '../hooks/documentation.ts';
import { hookId } from '../hooks/hook-id.ts';
import { enteringOperation } from '../http/operation.ts';
import { linkHeader, perPage } from '../http/page.ts';
import { readCursor, writeCursor } from './cursor.ts';
import { deliverySchema } from './present.ts';
import { findPreviousId, loadPage } from './rows.ts';

const query = z.object({
  per_page: perPage,
  cursor: z.string().optional().meta({ description: 'From the `Link` header' }),
  status: z.enum(['success', 'failure']).optional().meta({ description: 'Status codes below 400, or from 400' }),
});

export const listDeliveries = enteringOperation({
  id: 'list-webhook-deliveries',
  summary: 'List the deliveries of a webhook',
  docs: githubDocs('list-deliveries-for-a-repository-webhook', 'list-deliveries-for-an-organization-webhook'),
  query,
  answers: { 200: { description: 'Deliveries, newest first', schema: z.array(deliverySchema) } },
  async run({ parts: { reads }, wanted, token, params, query, url }) {
    const id = hookId(params);
    const fromId = readCursor(query.cursor);
    const { json, next } = await loadPage(reads, { token, wanted, hookId: id }, query.status, fromId, query.per_page);
    const previous = query.cursor ? await findPreviousId(reads, id, query.status, fromId, query.per_page) : undefined;
    const pageAt = (cursor: string) =>
      `${url}?per_page=${query.per_page}${query.status ? `&status=${query.status}` : ''}&cursor=${writeCursor(cursor)}`;
    const links: [string, string][] = [];
    if (next !== null) links.push(['next', pageAt(next)]);
    if (previous !== undefined) links.push(['prev', pageAt(previous)]);
    return { status: 200, json: `[${json ?? ''}]`, headers: linkHeader(links) };
  },
});
