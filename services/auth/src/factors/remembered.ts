/**
 * Browsers that are not asked for a second factor for thirty days, because the person chose this after proving one. The cookie is random,
 * one per person, and renewed each time; the browsers are recorded in PostgreSQL, where they can be revoked
 * (`multifactor/actions/invalidate-remember-browser`).
 */
import { randomBytes } from 'node:crypto';
import { hashId } from '../adapter/hashed.ts';
import type { Interaction } from '../interaction/interaction.ts';
import { type FactorStore, rememberedDays } from './store.ts';

export type RememberedParts = { secure: boolean; factors: Pick<FactorStore, 'isRemembered'> };

export async function isRememberedBrowser(
  { parts, request }: { parts: RememberedParts; request: { get(header: string): string | undefined } },
  userId: string,
): Promise<boolean> {
  const name = nameOf(parts.secure, userId);
  const pair = (request.get('cookie') ?? '').split('; ').find((text) => text.startsWith(`${name}=`));
  const browser = pair?.slice(name.length + 1);
  return browser !== undefined && browser !== '' && parts.factors.isRemembered(userId, browser);
}

export async function rememberBrowser({ parts, response }: Interaction, userId: string): Promise<void> {
  const browser = randomBytes(32).toString('base64url');
  await parts.factors.rememberBrowser(userId, browser);
  const maxAge = rememberedDays * 86_400_000;
  const { secure } = parts;
  response.cookie(nameOf(secure, userId), browser, { httpOnly: true, sameSite: 'lax', secure, maxAge });
}

function nameOf(secure: boolean, userId: string): string {
  return `${secure ? '__Host-' : '_'}remembered-${hashId(userId).slice(0, 12)}`;
}
