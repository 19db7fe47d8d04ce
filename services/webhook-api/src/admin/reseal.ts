/** `POST /admin/secrets/reseal`: reseals hook secrets from `SECRETS_KEY_OTHER` under `SECRETS_KEY` (docs/operations.md). */
import { resealHooks } from '@gatepost/webhook-db/secrets';
import { z } from 'zod';
import { tokenOperation } from '../http/operation.ts';

/** Hooks per request: each one changed is a statement of its own. */
const most = 500;

export const resealSecrets = tokenOperation({
  id: 'reseal-secrets',
  summary: 'Seal secrets under the current key',
  body: z.object({
    after: z.int().min(0).default(0).meta({ description: 'Where to continue: `next` of the previous answer' }),
  }),
  answers: {
    200: {
      description: `What was done for up to ${most} hooks`,
      schema: z
        .object({
          resealed: z.int(),
          unreadable: z
            .array(z.int())
            .meta({ description: 'Ids of hooks whose secrets neither key can open; they get no deliveries' }),
          next: z.int().nullable().meta({ description: 'null: all hooks are done' }),
        })
        .meta({ id: 'Resealed' }),
    },
  },
  async run({ parts: { pool, seal }, body: { after } }) {
    const { resealed, unreadable, lastId } = await resealHooks(pool, seal, after, most);
    return { status: 200, body: { resealed, unreadable, next: lastId ?? null } };
  },
});
