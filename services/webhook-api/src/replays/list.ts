/** `GET …/deliveries/replays`: running and finished ones, within the log's retention. */
import { z } from 'zod';
import { loadHook } from '../hooks/rows.ts';
import { placeOperation } from '../http/operation.ts';
import { offsetOf, pageLinks, pageQuery } from '../http/page.ts';
import { parseHookId } from '../http/path-ids.ts';
import { presentReplay, replaySchema } from './present.ts';
import { listReplays as listRows } from './rows.ts';

export const listReplays = placeOperation({
  id: 'list-webhook-replays',
  summary: 'List the replays of a webhook',
  query: pageQuery,
  answers: { 200: { description: 'Replays, newest first', schema: z.array(replaySchema) } },
  async run({ parts, place, token, params, query, url }) {
    const hook = await loadHook(parts.reads, place, token, parseHookId(params));
    const { rows, total } = await listRows(parts.reads, hook.id, { limit: query.per_page, offset: offsetOf(query) });
    return { status: 200, body: rows.map((row) => presentReplay(row)), headers: pageLinks(url, query, total) };
  },
});
