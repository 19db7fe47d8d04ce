/**
 * Changes a place and its hooks, one change at a time, so that concurrent changes can neither exceed the limit nor make a duplicate. The row
 * lock is for other processes. A change waiting on it holds a connection, and those of one busy repository would hold them all.
 */

import { inTransaction } from '@gatepost/runtime/transaction';
import type { Queryable } from '@gatepost/webhook-db/pool';
import type { Place } from '../access/place.ts';
import { notFound, unavailable } from '../http/errors.ts';
import type { PlaceCall } from '../http/operation.ts';

// Within this process changes wait here for their turn, without a connection. After three quarters of the time allowed to a store, a change
// is answered 503 without effect, since a later answer would reach nobody. Waiting for the row is part of that time.
const turns = new Map<string, Promise<unknown>>();

/**
 * Runs `change` in a transaction that locks the place's row; nobody else changes the place or its hooks meanwhile.
 * @throws what `change` throws, after a rollback; ApiError 404 when the place is gone, 503 when its turn did not come in time, or when the
 * request that asks for it has been answered meanwhile.
 */
export function changeInPlace<T>(
  { parts: { pool, storeTimeoutMs }, place, checkTime }: Pick<PlaceCall, 'parts' | 'place' | 'checkTime'>,
  change: (db: Queryable) => Promise<T>,
): Promise<T> {
  const name = `${place.account.id}/${place.repository?.id ?? ''}`;
  const held = async (db: Queryable) => {
    await lockPlace(db, place);
    checkTime();
    const changed = await change(db);
    checkTime(); // as late as possible: a commit cannot be taken back
    return changed;
  };
  return inTurn(name, storeTimeoutMs * 0.75, (leftMs) =>
    inTransaction(pool, held, `SET LOCAL lock_timeout = ${Math.ceil(leftMs)}`),
  );
}

async function inTurn<T>(place: string, waitMaxMs: number, work: (leftMs: number) => Promise<T>): Promise<T> {
  const askedAt = performance.now();
  const before = turns.get(place);
  const mine = (async () => {
    await before?.catch(() => {}); // its own caller gets the error
    const leftMs = waitMaxMs - (performance.now() - askedAt);
    if (leftMs <= 0) throw unavailable(new Error(`${place} was busy for ${waitMaxMs} ms`));
    return work(leftMs);
  })();
  turns.set(place, mine);
  try {
    return await mine;
  } finally {
    if (turns.get(place) === mine) turns.delete(place);
  }
}

async function lockPlace(db: Queryable, { account, repository }: Place): Promise<void> {
  // The account first, as when it is deleted: its hooks refer to it, and in the other order each could wait for the other.
  await hold(db, `accounts WHERE id = $1 FOR ${repository ? 'KEY SHARE' : 'NO KEY UPDATE'}`, account.id);
  if (repository) await hold(db, 'repositories WHERE id = $1 FOR NO KEY UPDATE', repository.id);
}

async function hold(db: Queryable, row: string, id: number): Promise<void> {
  const { rowCount } = await db.query(`SELECT FROM ${row}`, [id]);
  if (rowCount === 0) throw notFound();
}
