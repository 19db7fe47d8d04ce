/** Ends what somebody has: grants and the refresh tokens that live by them, at once. */
import { setTimeout } from 'node:timers/promises';
import type { Pool } from '../database.ts';

/**
 * Ends all grants of a person, or those for one client. An access token that hangs on a grant is refused from then on wherever
 * it is looked up; a JWT that an API verifies by itself lives until it expires.
 */
export type EndAccess = (userId: string, clientId?: string) => Promise<void>;

export function makeEndAccess(pool: Pool): EndAccess {
  return async (userId, clientId) => {
    await pool.query({
      name: 'artefacts end access',
      text: 'DELETE FROM artefacts WHERE account_id = $1 AND ($2::text IS NULL OR client_id = $2)',
      values: [userId, clientId ?? null],
    });
  };
}

/**
 * What to set `sessionsNotBefore` to, so that every session that began up to now is over. A session knows its beginning by the
 * second only, and store.ts spares 999 ms for that: the mark lies as far into the next second.
 */
export function sessionsEnd(now = new Date()): Date {
  return new Date(Math.floor(now.getTime() / 1000) * 1000 + 1_999);
}

/** Resolves when a session that begins is one after the mark: less than a second after it was made. */
export async function sessionsEnded(mark: Date): Promise<void> {
  const ms = mark.getTime() - 999 - Date.now();
  if (ms > 0) await setTimeout(ms);
}
