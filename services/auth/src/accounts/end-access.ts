/** Ends a person’s access at once: grants, and the refresh tokens that depend on them. */
import { setTimeout } from 'node:timers/promises';
import type { Sessions, StoredSession } from '../adapter/sessions.ts';
import { type Database, Prisma } from '../database.ts';

/** The database, or a transaction. */
type Statements = Pick<Database, '$executeRaw'>;

/**
 * Ends all grants of a person, or those for one client. From then on an access token of such a grant is refused wherever it is
 * looked up; a JWT that an API verifies offline stays valid until it expires.
 */
export async function endAccess(db: Statements, userId: string, clientId?: string): Promise<void> {
  const ofClient = clientId === undefined ? Prisma.sql`true` : Prisma.sql`client_id = ${clientId}`;
  await endArtefacts(db, Prisma.sql`account_id = ${userId} AND ${ofClient}`);
}

/**
 * Deletes these artefacts, except for the grants among them, which expire: an authorization that read one before and extends it now would
 * bring back a deleted one, with everything it allowed (adapter/postgres.ts).
 */
export async function endArtefacts(db: Statements, where: Prisma.Sql): Promise<void> {
  await db.$executeRaw`
    WITH ended AS (
      UPDATE artefacts SET expires_at = date_trunc('milliseconds', now())
       WHERE model = 'Grant' AND expires_at > now() AND (${where}))
    DELETE FROM artefacts WHERE model <> 'Grant' AND (${where})`;
}

/** Ends a session together with the grants and refresh tokens that applications got from it. */
export async function endSessionAndTokens(
  { sessions, db }: { sessions: Sessions; db: Statements },
  { uid, accountId, authorizations = {} }: StoredSession,
): Promise<void> {
  await sessions.end(uid);
  const grants = Object.values(authorizations).flatMap(({ grantId }) => grantId ?? []);
  await endArtefacts(
    db,
    Prisma.sql`account_id = ${accountId} AND (grant_id = ANY (${grants}::text[]) OR model = 'Grant' AND id = ANY (${grants}::text[])
               OR model = 'RefreshToken' AND payload ->> 'sessionUid' = ${uid})`,
  );
}

/**
 * The value of `sessionsNotBefore` that ends every session begun up to now. A session records its beginning in whole seconds, for
 * which store.ts tolerates 999 ms; so the mark is the next full second. If there is one as late already, PostgreSQL stores that one plus a
 * millisecond: no two marks of an account are equal.
 */
export function sessionsEnd(now = new Date()): Date {
  return new Date(Math.floor(now.getTime() / 1000) * 1000 + 1_000);
}

/** When a session counts from (epoch seconds) that is spared by this mark as stored, and by none after it. */
export function sparedBy(mark: Date): number {
  return (mark.getTime() - 999) / 1000;
}

/** Resolves once a new session counts as later than the mark: less than a second after the mark was made. */
export async function waitForSessionsEnd(mark: Date): Promise<void> {
  const ms = Math.ceil(sparedBy(mark)) * 1000 - Date.now();
  if (ms > 0) await setTimeout(ms);
}
