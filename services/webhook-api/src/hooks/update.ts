/** `PATCH …/hooks/{hook_id}`: `config` replaces the whole config; anything not given stays. */
import { z } from 'zod';
import { placeOperation } from '../http/operation.ts';
import { parseHookId } from '../http/path-ids.ts';
import { changeHook } from './change.ts';
import { configInput, makeConfig, mergeConfig, ownInput, ownOf } from './config.ts';
import { githubDocs } from './documentation.ts';
import { readEvents } from './events.ts';
import { hookSchema, presentDropped, presentHook } from './present.ts';

const names = z.array(z.string()).max(200);

const body = z
  .object({
    config: configInput.optional().meta({ description: 'Replaces the whole config' }),
    ...ownInput,
    events: names.optional().meta({ description: 'Replaces the list' }),
    add_events: names.optional(),
    remove_events: names.optional(),
    active: z.boolean().optional(),
  })
  .meta({ id: 'HookUpdate' });

export const updateHook = placeOperation({
  id: 'update-webhook',
  summary: 'Update a webhook',
  docs: githubDocs('update-a-repository-webhook', 'update-an-organization-webhook'),
  body,
  answers: { 200: { description: 'The hook', schema: hookSchema } },
  async run({ parts, place, token, params, body, base, checkTime }) {
    const { row, dropped } = await changeHook({ parts, place, token, checkTime }, parseHookId(params), (before) => ({
      config: body.config
        ? makeConfig(body.config, ownOf(body), before.config)
        : mergeConfig({}, ownOf(body), before.config),
      events: changeEvents(before.events),
      active: body.active ?? before.active,
    }));
    return { status: 200, body: { ...presentHook(row, place, base, parts.seal), ...presentDropped(dropped) } };

    function changeEvents(held: string[]): string[] {
      const wanted = [...(body.events ?? held), ...(body.add_events ?? [])];
      const removed = new Set(body.remove_events);
      return readEvents(
        wanted.filter((name) => !removed.has(name)),
        parts.catalog,
        held,
      );
    }
  },
});
