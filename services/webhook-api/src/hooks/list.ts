/** `GET …/hooks`. */
import { z } from 'zod';
import { placeOperation } from '../http/operation.ts';
import { offsetOf, pageLinks, pageQuery } from '../http/page.ts';
import { githubDocs } from './documentation.ts';
import { hookSchema, presentHook } from './present.ts';
import { listRows } from './rows.ts';

export const listHooks = placeOperation({
  id: 'list-webhooks',
  summary: 'List webhooks',
  docs: githubDocs('list-repository-webhooks', 'list-organization-webhooks'),
  query: pageQuery,
  answers: { 200: { description: 'Hooks, oldest first', schema: (family) => z.array(hookSchema(family)) } },
  async run({ parts, place, token, query, base, address }) {
    const { rows, total } = await listRows(parts.pool, place, token, {
      limit: query.per_page,
      offset: offsetOf(query),
    });
    return {
      status: 200,
      body: rows.map((row) => presentHook(row, place, base, parts.seal)),
      headers: pageLinks(address, query, total),
    };
  },
});
