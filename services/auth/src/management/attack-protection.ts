/** `attack-protection`: what steers the gate's defences (protection/settings.ts). */
import type { z } from '@gatepost/runtime/env';
import type { Prisma } from '../database.ts';
import { changed, type ProtectionName, protectionOf, shapes } from '../protection/settings.ts';
import { type Operation, ok, operation } from './operation.ts';

export const getProtection = (name: ProtectionName): Operation =>
  operation({ run: async ({ parts }) => ok(protectionOf(await parts.settings.load())[name]) });

/** What is not named stays as it is. */
export function updateProtection(name: ProtectionName): Operation {
  const body: z.ZodType<object> = shapes[name];
  return operation({
    body,
    async run({ parts, body: change }) {
      const attackProtection = changed(await parts.settings.load(), name, change) as Prisma.InputJsonObject;
      return ok(protectionOf(await parts.settings.update({ attackProtection }))[name]);
    },
  });
}
