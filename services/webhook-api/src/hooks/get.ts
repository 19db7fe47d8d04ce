/** `GET …/hooks/{hook_id}`. */
import { placeOperation } from '../http/operation.ts';
import { parseHookId } from '../http/path-ids.ts';
import { githubDocs } from './documentation.ts';
import { hookSchema, presentHealth, presentHook } from './present.ts';
import { loadHook } from './rows.ts';

export const getHook = placeOperation({
  id: 'get-webhook',
  summary: 'Get a webhook',
  docs: githubDocs('get-a-repository-webhook', 'get-an-organization-webhook'),
  answers: { 200: { description: 'The hook', schema: hookSchema } },
  async run({ parts, place, token, params, base }) {
    const row = await loadHook(parts.reads, place, token, parseHookId(params));
    return { status: 200, body: { ...presentHook(row, place, base, parts.seal), ...presentHealth(row) } };
  },
});
