/**
 * Changes a place and its hooks, one change at a time, so that concurrent changes can neither exceed the limit nor make a duplicate. The row
 * lock is for other processes. A change waiting on it would hold a connection: sixteen clients creating hooks in one repository once
 * made everybody else’s requests fail.
 */
import { inTransaction } from '@gatepost/runtime/transaction';
import type { Place } from '../access/place.ts';
import { notFound, unavailable } from '../http/errors.ts';
import type { Parts } from '../parts.ts';
import type { Queryable } from './rows.ts';

// Within this process changes wait here for their turn, without a connection. After three quarters of the time allowed to a store, a change
// is answered 503 without effect, since a later answer would reach nobody.
const turns = new Map<string, Promise<unknown>>();

/**
 * Runs `change` in a transaction that locks the place's row; nobody else changes the place or its hooks meanwhile.
 * @throws what `change` throws, after a rollback; ApiError 404 when the place is gone, 503 when its turn did not come in time.
 */
export function changeInPlace<T>(
  { pool, storeTimeoutMs }: Pick<Parts, 'pool' | 'storeTimeoutMs'>,
  place: Place,
  change: (db: Queryable) => Promise<T>,
): Promise<T> {
  const waitMaxMs = storeTimeoutMs * 0.75;
  const name = `${place.account.id}/${place.repository?.id ?? ''}`;
  return inTurn(name, waitMaxMs, () => changeNow(pool, place, waitMaxMs, change));
}

async function inTurn<T>(place: string, waitMaxMs: number, work: () => Promise<T>): Promise<T> {
  const askedAt = performance.now();
  const before = turns.get(place);
  const mine = (async () => {
    await before?.catch(() => {}); // its own caller gets the error
    // Nobody is waiting for the answer any more.
    if (performance.now() - askedAt > waitMaxMs) throw unavailable(new Error(`${place} was busy for ${waitMaxMs} ms`));
    return work();
  })();
  turns.set(place, mine);
  try {
    return await mine;
  } finally {
    if (turns.get(place) === mine) turns.delete(place);
  }
}

function changeNow<T>(
  pool: Parts['pool'],
  place: Place,
  waitMaxMs: number,
  change: (db: Queryable) => Promise<T>,
): Promise<T> {
  const held = async (client: Queryable) => {
    const { rowCount } = place.repository
      ? await client.query('SELECT FROM repositories WHERE id = $1 FOR NO KEY UPDATE', [place.repository.id])
      : await client.query('SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [place.account.id]);
    if (rowCount === 0) throw notFound();
    return change(client);
  };
  return inTransaction(pool, held, `SET LOCAL lock_timeout = ${Math.ceil(waitMaxMs)}`);
}
