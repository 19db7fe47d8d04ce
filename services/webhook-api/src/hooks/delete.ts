/** `DELETE …/hooks/{hook_id}`. Its deliveries stay in the log until retention drops them, but can no longer be listed. */
import { notFound } from '../http/errors.ts';
import { placeOperation } from '../http/operation.ts';
import { parseHookId } from '../http/path-ids.ts';
import { githubDocs } from './documentation.ts';
import { deleteRow } from './rows.ts';

export const deleteHook = placeOperation({
  id: 'delete-webhook',
  summary: 'Delete a webhook',
  docs: githubDocs('delete-a-repository-webhook', 'delete-an-organization-webhook'),
  answers: { 204: { description: 'Deleted' } },
  async run({ parts, place, token, params }) {
    if (!(await deleteRow(parts.pool, place, token, parseHookId(params)))) throw notFound();
    return { status: 204 };
  },
});
