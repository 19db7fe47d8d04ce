/** Ends a person’s access at once: grants, and the refresh tokens that depend on them. */
import { setTimeout } from 'node:timers/promises';
import type { Sessions, StoredSession } from '../adapter/sessions.ts';
import type { Pool } from '../database.ts';

/**
 * Ends all grants of a person, or those for one client. From then on an access token of such a grant is refused wherever it is
 * looked up; a JWT that an API verifies offline stays valid until it expires.
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

/** Ends a session together with the grants and refresh tokens that applications got from it. */
export async function endSessionAndTokens(
  { sessions, pool }: { sessions: Sessions; pool: Pool },
  { uid, accountId, authorizations = {} }: StoredSession,
): Promise<void> {
  await sessions.end(uid);
  const grants = Object.values(authorizations).flatMap(({ grantId }) => grantId ?? []);
  await pool.query({
    text: `DELETE FROM artefacts WHERE account_id = $1
             AND (grant_id = ANY ($2) OR model = 'Grant' AND id = ANY ($2) OR model = 'RefreshToken' AND payload ->> 'sessionUid' = $3)`,
    values: [accountId, grants, uid],
  });
}

/**
 * The value of `sessionsNotBefore` that ends every session begun up to now. A session records its beginning in whole seconds, for
 * which store.ts tolerates 999 ms; so the mark lies that far into the next second.
 */
export function sessionsEnd(now = new Date()): Date {
  return new Date(Math.floor(now.getTime() / 1000) * 1000 + 1_999);
}

/** Resolves once a new session counts as later than the mark: less than a second after the mark was made. */
export async function sessionsEnded(mark: Date): Promise<void> {
  const ms = mark.getTime() - 999 - Date.now();
  if (ms > 0) await setTimeout(ms);
}
