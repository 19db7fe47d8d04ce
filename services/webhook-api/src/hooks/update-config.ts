/** `PATCH …/hooks/{hook_id}/config`: only what is named changes. */
import { placeOperation } from '../http/operation.ts';
import { changeHook } from './change.ts';
import { configInput, mergeConfig } from './config.ts';
import { githubDocs } from './documentation.ts';
import { hookId } from './hook-id.ts';
import { configSchema, presentConfig, presentDropped } from './present.ts';

export const updateHookConfig = placeOperation({
  id: (family) => (family === 'repos' ? 'update-webhook-config-for-repo' : 'update-webhook-config-for-org'),
  summary: "Update a webhook's config",
  docs: githubDocs(
    'update-a-webhook-configuration-for-a-repository',
    'update-a-webhook-configuration-for-an-organization',
  ),
  body: configInput,
  answers: { 200: { description: 'The config', schema: configSchema } },
  async run({ parts, place, token, params, body }) {
    const { row, dropped } = await changeHook(parts, place, token, hookId(params), (before) => ({
      ...before,
      config: mergeConfig(body, {}, before.config),
    }));
    return { status: 200, body: { ...presentConfig(row), ...presentDropped(dropped) } };
  },
});
