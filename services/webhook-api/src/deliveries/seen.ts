/** Who may see a hook's log, and from which database it is read. */
import type { Pool } from '@gatepost/webhook-db/pool';
import type { Reads } from '@gatepost/webhook-db/reads';
import { checkEntry, type EntryRow, placeSql, placeValues, type Wanted } from '../access/place.ts';
import type { Token } from '../access/token.ts';
import { visibleIn } from '../hooks/rows.ts';
import { notFound } from '../http/errors.ts';
import type { Parts } from '../parts.ts';

/** A hook's log as requested by its caller. */
export type LogOf = { token: Token; wanted: Wanted; hookId: number };

// The columns that `checkEntry` reads, and whether the hook exists and may be seen; their names differ from those of a delivery.
export const entryColumns =
  'p.login, p.role, p.app_restricted, p.visibility, p.repository_id AS place_repository_id, h.id AS seen_hook_id';

export type EnteredRow = Omit<EntryRow, 'repository_id'> & {
  place_repository_id: number | null;
  seen_hook_id: number | null;
};

/** @throws ApiError 404 or 403 when the caller may not enter, or may not see the hook. */
export function checkSeen<R extends EnteredRow>(row: R | undefined, wanted: Wanted): asserts row is R {
  checkEntry(row && { ...row, repository_id: row.place_repository_id }, wanted);
  if (row!.seen_hook_id === null) throw notFound();
}

/** @throws ApiError 404 or 403 when the caller may not enter, or may not see the hook. */
export async function checkMaySee(reads: Reads, { token, wanted, hookId }: LogOf): Promise<void> {
  const seen = visibleIn(wanted);
  const { rows } = await reads.query<EnteredRow>({
    name: `log seen ${seen.kind}`,
    text: `WITH p AS (${placeSql}) SELECT ${entryColumns} FROM p LEFT JOIN hooks h ON ${seen.condition} AND h.id = $5`,
    values: [...placeValues(token, wanted), hookId],
  });
  checkSeen(rows[0], wanted);
}

/**
 * Reads a log from the replica if there is one, otherwise from the primary. The primary always decides who may see it, and is also asked for
 * anything that the replica lacks or does not let the caller see.
 */
export async function readLog<T>(
  { replica, reads }: Pick<Parts, 'replica' | 'reads'>,
  log: LogOf,
  fromReplica: (pool: Pool) => Promise<T>,
  fromPrimary: () => Promise<T>,
): Promise<{ value: T; headers: Record<string, string> }> {
  const [found] = replica ? await Promise.all([replica.read(fromReplica), checkMaySee(reads, log)]) : [];
  if (!found) return { value: await fromPrimary(), headers: {} };
  return { value: found.value, headers: { 'X-Gatepost-As-Of': found.asOf.toISOString() } };
}
