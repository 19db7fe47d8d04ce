/** How long what a client gets stays good, in seconds; Auth0's defaults where the client sets nothing. */
import type { OwnMetadata } from './metadata.ts';

export const minute = 60;
export const hour = 60 * minute;
export const day = 24 * hour;

/** A session is over when nobody used it for so long, and in any case when so long ago somebody logged in. */
export const sessionLifetime = { idle: 3 * day, absolute: 7 * day };

/** A login page that nobody has posted anything from is dropped soon: anybody can have as many as he likes. */
export const interactionLifetime = { unanswered: 10 * minute, answered: hour };

/** How much longer than its refresh tokens a grant lives: those are issued while the session it came from lasts. */
export const grantLifetimeMargin = sessionLifetime.absolute + day;

/** Stands for "never" where the library wants a number. */
const never = 3_650 * day;

export function refreshLifetime(client: Pick<OwnMetadata, 'refresh_token'> | undefined): {
  absolute: number;
  idle: number;
} {
  const policy = client?.refresh_token ?? {};
  if (policy.expiration_type === 'non-expiring') return { absolute: never, idle: never };
  const absolute = policy.token_lifetime ?? 30 * day;
  return { absolute, idle: Math.min(policy.idle_token_lifetime ?? 15 * day, absolute) };
}

/** Public clients always rotate (RFC 9700 section 4.14), others on request. */
export function rotates(client: Pick<OwnMetadata, 'refresh_token'> & { isPublic: boolean }): boolean {
  return client.isPublic || client.refresh_token?.rotation_type === 'rotating';
}
