/** `GET …/hooks/{hook_id}/config`. */
import { placeOperation } from '../http/operation.ts';
import { parseHookId } from '../http/path-ids.ts';
import { githubDocs } from './documentation.ts';
import { configSchema, presentConfig } from './present.ts';
import { loadHook } from './rows.ts';

export const getHookConfig = placeOperation({
  id: (family) => (family === 'repos' ? 'get-webhook-config-for-repo' : 'get-webhook-config-for-org'),
  summary: "Get a webhook's config",
  docs: githubDocs('get-a-webhook-configuration-for-a-repository', 'get-a-webhook-configuration-for-an-organization'),
  answers: { 200: { description: 'The config', schema: configSchema } },
  async run({ parts, place, token, params }) {
    const row = await loadHook(parts.reads, place, token, parseHookId(params));
    return { status: 200, body: presentConfig(row) };
  },
});
