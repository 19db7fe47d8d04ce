/** `GET …/hooks/{hook_id}/deliveries`: newest first, paged by cursor, so that new deliveries shift nothing. */
import type { Reads } from '@gatepost/webhook-db/reads';
import { z } from 'zod';
import { githubDocs } from '../hooks/documentation.ts';
import { hookId } from '../hooks/hook-id.ts';
import { enteringOperation } from '../http/operation.ts';
import { linkHeader, perPage } from '../http/page.ts';
import { readCursor, writeCursor } from './cursor.ts';
import { deliverySchema } from './present.ts';
import { findPreviousId, loadPage, readLog } from './rows.ts';

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
  async run({ parts, wanted, token, params, query, url }) {
    const log = { token, wanted, hookId: hookId(params) };
    const { status, per_page } = query;
    const fromId = readCursor(query.cursor);
    const load = async (reads: Pick<Reads, 'query'>) => {
      const page = await loadPage(reads, log, status, fromId, per_page);
      const previous = query.cursor ? await findPreviousId(reads, log.hookId, status, fromId, per_page) : undefined;
      return { ...page, previous };
    };
    const { value, headers } = await readLog(parts, log, load, () => load(parts.reads));
    const { json, next, previous } = value;
    const pageAt = (cursor: string) =>
      `${url}?per_page=${query.per_page}${query.status ? `&status=${query.status}` : ''}&cursor=${writeCursor(cursor)}`;
    const links: [string, string][] = [];
    if (next !== null) links.push(['next', pageAt(next)]);
    if (previous !== undefined) links.push(['prev', pageAt(previous)]);
    return { status: 200, json: `[${json ?? ''}]`, headers: { ...linkHeader(links), ...headers } };
  },
});
