/** The valid messages from an action's process (worker/messages.ts); any other ends it. */
import { z } from 'zod';

const number = z.number().int().min(0);
const output = z.array(z.string().max(1_100)).max(100);
const headers = z.array(z.tuple([z.string().max(200), z.string().max(8_192)])).max(100);

export const reportShape = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('loaded') }),
  z.strictObject({ type: z.literal('broken'), message: z.string().max(1_100) }),
  z.strictObject({
    type: z.literal('done'),
    run: number,
    commands: z.array(z.strictObject({ name: z.string().max(64), args: z.array(z.unknown()).max(4) })).max(200),
    output,
  }),
  z.strictObject({
    type: z.literal('failed'),
    run: number,
    reason: z.enum(['threw', 'timeout', 'absent']),
    message: z.string().max(1_100),
    output,
  }),
  z.strictObject({
    type: z.literal('fetch'),
    fetch: number,
    request: z.strictObject({
      url: z.url().max(8_192),
      method: z.string().regex(/^[A-Z]{1,20}$/),
      headers,
      body: z.base64().optional(),
      redirect: z.enum(['follow', 'manual', 'error']),
    }),
  }),
  z.strictObject({ type: z.literal('pong') }),
]);
