/** `GET …/hooks/{hook_id}/deliveries`: newest first, or by number, paged by cursor, so that new deliveries shift nothing. */
import type { Reads } from '@gatepost/webhook-db/reads';
import { z } from 'zod';
import { githubDocs } from '../hooks/documentation.ts';
import { hookId } from '../hooks/hook-id.ts';
import { enteringOperation, ours } from '../http/operation.ts';
import { linkHeader, perPage } from '../http/page.ts';
import { readCursor, readSequenceCursor, writeCursor } from './cursor.ts';
import { deliverySchema } from './present.ts';
import { findPreviousId, loadPage, readLog } from './rows.ts';

const query = z.object({
  per_page: perPage,
  cursor: z.string().optional().meta({ description: 'From the `Link` header' }),
  status: z.enum(['success', 'failure']).optional().meta({ description: 'Status codes below 400, or from 400' }),
  after_sequence: z
    .string()
    .optional()
    .meta({
      ...ours,
      description: 'Only deliveries with a larger `sequence`, in the order of these, the smallest first',
    }),
});

export const listDeliveries = enteringOperation({
  id: 'list-webhook-deliveries',
  summary: 'List the deliveries of a webhook',
  docs: githubDocs('list-deliveries-for-a-repository-webhook', 'list-deliveries-for-an-organization-webhook'),
  query,
  answers: { 200: { description: 'Deliveries, newest first', schema: z.array(deliverySchema) } },
  async run({ parts, wanted, token, params, query, url }) {
    const log = { token, wanted, hookId: hookId(params) };
    const { status, per_page, cursor, after_sequence: after } = query;
    const start = after === undefined ? readCursor(cursor) : readSequenceCursor(after, cursor);
    const load = async (reads: Pick<Reads, 'query'>) => {
      const page = await loadPage(reads, log, status, start, per_page);
      const previous =
        cursor && start.order === 'newest'
          ? await findPreviousId(reads, log.hookId, status, start.id, per_page)
          : undefined;
      return { ...page, previous };
    };
    const { value, headers } = await readLog(parts, log, load, () => load(parts.reads));
    const { json, next, previous } = value;
    const asked = `per_page=${per_page}${status ? `&status=${status}` : ''}${after === undefined ? '' : `&after_sequence=${after}`}`;
    const pageAt = (start: string) => `${url}?${asked}&cursor=${writeCursor(start)}`;
    const links: [string, string][] = [];
    if (next !== null) links.push(['next', pageAt(next)]);
    if (previous !== undefined) links.push(['prev', pageAt(previous)]);
    return { status: 200, json, headers: { ...linkHeader(links), ...headers } };
  },
});
