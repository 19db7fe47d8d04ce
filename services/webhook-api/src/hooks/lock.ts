/** Changing the hooks of one place, one change at a time: so that two at once cannot exceed the limit or make a duplicate. */
import type { Pool } from '@gatepost/webhook-db/pool';
import type { Place } from '../access/place.ts';
import { notFound } from '../http/errors.ts';
import type { Queryable } from './rows.ts';

/**
 * Runs `change` in a transaction that holds the place's row; its hooks do not change meanwhile but by us.
 * @throws what `change` throws, after a rollback; ApiError 404 when the place is gone.
 */
export async function changeHooks<T>(pool: Pool, place: Place, change: (db: Queryable) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query("BEGIN; SET LOCAL lock_timeout = '3s'");
    const { rowCount } = place.repository
      ? await client.query('SELECT FROM repositories WHERE id = $1 FOR NO KEY UPDATE', [place.repository.id])
      : await client.query('SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [place.account.id]);
    if (rowCount === 0) throw notFound();
    const result = await change(client);
    await client.query('COMMIT');
    return result;
  } catch (error) {
    await client.query('ROLLBACK').catch((failure: Error) => {
      broken = failure; // a connection that cannot roll back is thrown away, and the server rolls back
    });
    throw error;
  } finally {
    client.release(broken);
  }
}
