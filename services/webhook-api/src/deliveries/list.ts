/** `GET …/hooks/{hook_id}/deliveries`: newest first, or by time or number; paged by cursor, so that new deliveries do not shift pages. */
import type { Queryable } from '@gatepost/webhook-db/pool';
import { z } from 'zod';
import { githubDocs } from '../hooks/documentation.ts';
import { validationFailed } from '../http/errors.ts';
import { enteringOperation, ours } from '../http/operation.ts';
import { filterText, linkHeader, perPage } from '../http/page.ts';
import { guidForm, parseHookId } from '../http/path-ids.ts';
import { time } from '../objects/time.ts';
import { readCursor, readSequenceCursor, readTimeCursor, writeCursor } from './cursor.ts';
import { type Filter, findPreviousId, loadPage, type PageStart } from './pages.ts';
import { deliverySchema } from './present.ts';
import { readLog } from './seen.ts';

const text = z
  .string()
  .max(200)
  .regex(/^[^\0]*$/, 'is not text');

const filters = {
  event: text.optional().meta({ ...ours, description: 'Only deliveries of events of this type' }),
  action: text.optional().meta({ ...ours, description: 'Only those with this action' }),
  guid: z
    .string()
    .regex(guidForm, 'is not a guid')
    .optional()
    .meta({ ...ours, description: 'Only those of this event: all attempts and redeliveries', format: 'uuid' }),
  throttled: z
    .enum(['true', 'false'])
    .optional()
    .meta({ ...ours, description: "Only those that waited for their account's limit, or only the others" }),
  since: time.optional().meta({ ...ours, description: 'Only those attempted from this time on, the latest first' }),
  until: time.optional().meta({ ...ours, description: 'Only those attempted up to this time, the latest first' }),
};

const query = z.object({
  per_page: perPage,
  cursor: z.string().optional().meta({ description: 'From the `Link` header' }),
  status: z.enum(['success', 'failure']).optional().meta({ description: 'Status codes below 400, or from 400' }),
  after_sequence: z
    .string()
    .optional()
    .meta({
      ...ours,
      description:
        'Only deliveries with a larger `sequence`, in that order, the smallest first; the only filter it allows is `status`',
    }),
  ...filters,
});

export const listDeliveries = enteringOperation({
  id: 'list-webhook-deliveries',
  summary: 'List the deliveries of a webhook',
  docs: githubDocs('list-deliveries-for-a-repository-webhook', 'list-deliveries-for-an-organization-webhook'),
  query,
  answers: {
    200: {
      description:
        'Deliveries, newest first. With `event`, `action` or `throttled` a page may have fewer or none and still link to a next page, because only a limited number is looked at for each page',
      schema: z.array(deliverySchema),
    },
  },
  async run({ parts, wanted, token, params, query, url }) {
    const log = { token, wanted, hookId: parseHookId(params) };
    const { status, per_page, cursor, after_sequence: after, since, until, throttled, ...of } = query;
    const asked = { since, until, throttled, ...of };
    const isFiltered = Object.values(asked).some((value) => value !== undefined);
    if (after !== undefined && isFiltered)
      throw validationFailed({ resource: 'Delivery', code: 'invalid', field: 'after_sequence' });
    const start = readStart(query);
    const filter: Filter = {
      outcome: status,
      ...of,
      throttled: throttled === undefined ? undefined : throttled === 'true',
      since: since === undefined ? undefined : new Date(since),
    };
    const load = async (reads: Queryable) => {
      const page = await loadPage(reads, log, filter, start, per_page);
      const previous =
        cursor && start.order === 'newest' && !isFiltered
          ? await findPreviousId(reads, log.hookId, status, start.id, per_page)
          : undefined;
      return { ...page, previous };
    };
    const { value, headers } = await readLog(parts, log, load, () => load(parts.reads));
    const { json, next, previous } = value;
    const kept = filterText({ status, after_sequence: after, ...asked });
    const pageAt = (start: string) => `${url}?per_page=${per_page}${kept}&cursor=${writeCursor(start)}`;
    const links: [string, string][] = [];
    if (next !== null) links.push(['next', pageAt(next)]);
    if (previous !== undefined) links.push(['prev', pageAt(previous)]);
    return { status: 200, json, headers: { ...linkHeader(links), ...headers } };
  },
});

function readStart({ cursor, after_sequence: after, ...asked }: z.infer<typeof query>): PageStart {
  if (after !== undefined) return readSequenceCursor(after, cursor);
  const isByTime = byTime.some((name) => asked[name] !== undefined);
  return isByTime ? readTimeCursor(asked.until, cursor) : readCursor(cursor);
}

/** Filters looked up by the minute (packages/webhook-db/src/stats.ts), whose results come in order of time. */
const byTime = ['since', 'until', 'event', 'action', 'throttled'] as const;
