/** `POST …/hooks`: within the limits, no duplicate, and with its first ping (docs/reference/webhooks-api.md#hooks). */
import { z } from 'zod';
import { validationFailed } from '../http/errors.ts';
import { placeOperation } from '../http/operation.ts';
import { addListener } from '../listeners/rows.ts';
import { checkConnected, publishDelivery } from '../publish.ts';
import { checkCliConfig } from './cli-config.ts';
import { checkSize, configInput, makeConfig, ownInput, ownOf } from './config.ts';
import { githubDocs } from './documentation.ts';
import { readEvents } from './events.ts';
import { changeInPlace } from './lock.ts';
import { type StoredPing, storePing } from './ping-event.ts';
import { hookSchema, placePath, presentHook, socketUrl } from './present.ts';
import { deleteRow, insertRow, loadHook } from './rows.ts';
import { checkRules } from './rules.ts';
import { sealConfig } from './stored.ts';
import { checkUrl } from './url.ts';

const body = z
  .object({
    name: z.string().optional().meta({
      description:
        'Default `web`. With `cli`, whoever opens its `ws_url` gets its deliveries, and it ends with that socket',
    }),
    config: configInput.optional(),
    ...ownInput,
    events: z.array(z.string()).max(200).optional().meta({ description: 'Default `["push"]`; `["*"]` for all' }),
    active: z
      .boolean()
      .optional()
      .meta({ description: 'Default `true`; a `cli` webhook is active once its socket is open' }),
  })
  .meta({ id: 'HookCreation' });

export const createHook = placeOperation({
  id: 'create-webhook',
  summary: 'Create a webhook; a ping is sent to it',
  docs: githubDocs('create-a-repository-webhook', 'create-an-organization-webhook'),
  body,
  answers: { 201: { description: 'The hook', schema: hookSchema } },
  async run({ parts, place, token, body, base, checkTime }) {
    const { name = 'web' } = body;
    if (name !== 'web' && name !== 'cli') throw validationFailed({ resource: 'Hook', field: 'name', code: 'invalid' });
    const isCli = name === 'cli';
    // The client cannot choose where it is reached.
    const given = isCli ? { ...body.config, url: '' } : body.config;
    const config = makeConfig(given ?? {}, ownOf(body), undefined);
    if (isCli) checkCliConfig(config);
    else checkUrl(config, parts.allowedNetworks);
    checkSize(config, undefined);
    const events = readEvents(body.events ?? ['push'], parts.catalog);
    const wanted = body.active ?? true;
    const active = wanted && !isCli;
    if (active) checkConnected(parts.publisher);

    const { hook, ping } = await changeInPlace({ parts, place, checkTime }, async (db) => {
      await checkRules(db, place, { ...config, events, id: null, held: [] }, parts.seal);
      const id = await insertRow(db, place, token, { ...sealConfig(config, { active, events }, parts.seal), name });
      if (isCli) await addListener(db, id, socketUrl(`${base}${placePath(place)}/hooks/${id}`), wanted);
      const row = await loadHook(db, place, token, id);
      const hook = presentHook(row, place, base, parts.seal);
      return { hook, ping: active ? await storePing(db, place, token, hook, base) : undefined };
    });
    if (ping) await publishOrUndo(ping);
    return { status: 201, body: hook, headers: { Location: String(hook.url) } };

    /** The ping is part of the creation: a client told of a failure must find no hook when it tries again. */
    async function publishOrUndo({ job, payload }: StoredPing): Promise<void> {
      try {
        await publishDelivery(parts, job, payload, checkTime);
      } catch (error) {
        await deleteRow(parts.pool, place, token, job.hookId);
        throw error;
      }
    }
  },
});
