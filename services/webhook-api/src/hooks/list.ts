/** `GET …/hooks`. */
import { z } from 'zod';
import { enteringOperation } from '../http/operation.ts';
import { offsetOf, pageLinks, pageQuery } from '../http/page.ts';
import { githubDocs } from './documentation.ts';
import { hookSchema, presentHealth, presentHook } from './present.ts';
import { listRows, wholeRowsInParts } from './rows.ts';

export const listHooks = enteringOperation({
  id: 'list-webhooks',
  summary: 'List webhooks',
  docs: githubDocs('list-repository-webhooks', 'list-organization-webhooks'),
  query: pageQuery,
  answers: { 200: { description: 'Hooks, oldest first', schema: (family) => z.array(hookSchema(family)) } },
  async run({ parts, wanted, token, query, base, url }) {
    const { place, rows, total } = await listRows(parts.reads, token, wanted, {
      limit: query.per_page,
      offset: offsetOf(query),
    });
    const body: Record<string, unknown>[] = [];
    for await (const whole of wholeRowsInParts(parts.pool, rows))
      body.push(...whole.map((row) => ({ ...presentHook(row, place, base, parts.seal), ...presentHealth(row) })));
    return {
      status: 200,
      body,
      headers: pageLinks(url, query, total),
    };
  },
});
