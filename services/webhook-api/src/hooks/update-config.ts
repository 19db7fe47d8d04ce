/** `PATCH …/hooks/{hook_id}/config`: changes only the values given. */
import { z } from 'zod';
import { ours, placeOperation } from '../http/operation.ts';
import { parseHookId } from '../http/path-ids.ts';
import { changeHook } from './change.ts';
import { configInput, mergeConfig } from './config.ts';
import { githubDocs } from './documentation.ts';
import { configSchema, presentConfig, presentDropped } from './present.ts';
import { refuse } from './refuse.ts';

const body = configInput
  .extend({
    previous_secret_until: z
      .string()
      .optional()
      .meta({
        ...ours,
        description:
          'With a new `secret`: until when the previous one also signs, at most 30 days from now (docs/reference/delivery.md); without this, it ends at once. Alone: changes when the previous one ends',
      }),
  })
  .meta({ id: 'HookConfigUpdate' });

export const updateHookConfig = placeOperation({
  id: (family) => (family === 'repos' ? 'update-webhook-config-for-repo' : 'update-webhook-config-for-org'),
  summary: "Update a webhook's config",
  docs: githubDocs(
    'update-a-webhook-configuration-for-a-repository',
    'update-a-webhook-configuration-for-an-organization',
  ),
  body,
  answers: { 200: { description: 'The config', schema: configSchema } },
  async run({ parts, place, token, params, body, checkTime }) {
    const { previous_secret_until: until, ...config } = body;
    const { row, dropped } = await changeHook({ parts, place, token, checkTime }, parseHookId(params), (before) => ({
      ...before,
      config: mergeConfig(config, {}, before.config),
      previousSecretUntil: readUntil(until),
    }));
    return { status: 200, body: { ...presentConfig(row), ...presentDropped(dropped) } };
  },
});

const overlapMaxMs = 30 * 86_400_000;

function readUntil(text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  const date = z.iso.datetime({ offset: true }).safeParse(text).success ? new Date(text) : undefined;
  if (date && date.getTime() <= Date.now() + overlapMaxMs) return date;
  throw refuse(
    'previous_secret_until',
    'previous_secret_until must be a time like 2026-11-22T10:30:00Z, at most 30 days from now',
  );
}
