/** Setting up a factor requires a recent login: a session that was left open must not give itself one. */

/** How old the login may be when a factor is set up. */
export const freshSeconds = 600;

/** @param at when the login happened, in epoch seconds */
export function isFresh(at: number | undefined): boolean {
  return at !== undefined && Date.now() / 1000 - at <= freshSeconds;
}
