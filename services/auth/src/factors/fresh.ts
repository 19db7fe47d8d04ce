/** Whoever sets up a factor has logged in just now: a session that was left open must not give itself one. */

/** How old a login may be that sets up a factor. */
export const freshSeconds = 600;

/** @param at of the login, in epoch seconds */
export function isFresh(at: number | undefined): boolean {
  return at !== undefined && Date.now() / 1000 - at <= freshSeconds;
}
