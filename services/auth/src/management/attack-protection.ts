/** `attack-protection`: configures the gate's defences (protection/settings.ts). */
import type { z } from 'zod';
import type { Prisma } from '../database.ts';
import { changed, type ProtectionName, protectionOf, shapes } from '../protection/settings.ts';
import { featureNotAvailable } from './absent.ts';
import { type Operation, ok, operation } from './operation.ts';
import type { Parts } from './parts.ts';

export const getProtection = (name: ProtectionName): Operation =>
  operation({ run: async ({ parts }) => ok(protectionOf(await parts.settings.load())[name]) });

/** Fields that are not named stay as they are. */
export function updateProtection(name: ProtectionName): Operation {
  const body: z.ZodType<object> = shapes[name];
  return operation({
    body,
    async run({ parts, body: change }) {
      const lacking = unavailableFeature(parts, name, change);
      if (lacking !== undefined) throw featureNotAvailable(lacking);
      const row = await parts.settings.update((before) => ({
        attackProtection: changed(before, name, change) as Prisma.InputJsonObject,
      }));
      return ok(protectionOf(row)[name]);
    },
  });
}

/** Settings that Auth0 accepts but this gate cannot apply. */
function unavailableFeature({ breached }: Parts, name: ProtectionName, change: { enabled?: boolean; method?: string }) {
  if (name !== 'breached-password-detection') return undefined;
  if (change.method === 'enhanced') return 'method cannot be changed';
  if (change.enabled && !breached.isPossible)
    return 'enabled cannot be set until BREACHED_PASSWORDS says where passwords are looked up';
  return undefined;
}
