/** Lifetimes of what a client is issued, in seconds; Auth0’s defaults where the client sets nothing. */
import type { OwnMetadata } from './metadata.ts';

export const minute = 60;
export const hour = 60 * minute;
export const day = 24 * hour;

/** A session ends when unused for `idle`, and in any case `absolute` after the login. */
export const sessionLifetime = { idle: 3 * day, absolute: 7 * day };

/** A login page is dropped soon if nothing was posted from it: anybody can open any number of them. */
export const interactionLifetime = { unanswered: 10 * minute, answered: hour };

/** How much longer a grant lives than its refresh tokens, which are issued for as long as the session lasts. */
export const grantLifetimeMargin = sessionLifetime.absolute + day;

/** Means "never" where the library needs a number. */
const never = 3_650 * day;

export function refreshLifetime(client: Pick<OwnMetadata, 'refresh_token'> | undefined): {
  absolute: number;
  idle: number;
} {
  const policy = client?.refresh_token ?? {};
  if (policy.expiration_type === 'non-expiring') return { absolute: never, idle: never };
  const absolute = policy.infinite_token_lifetime ? never : (policy.token_lifetime ?? 30 * day);
  const idle = policy.infinite_idle_token_lifetime ? never : (policy.idle_token_lifetime ?? 15 * day);
  return { absolute, idle: Math.min(idle, absolute) };
}

/** Public clients always rotate (RFC 9700 section 4.14), others on request. */
export function rotates(client: Pick<OwnMetadata, 'refresh_token'> & { isPublic: boolean }): boolean {
  return client.isPublic || client.refresh_token?.rotation_type === 'rotating';
}
