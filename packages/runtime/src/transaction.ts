/** Runs a transaction on a connection of a pool, ends it, and returns the connection. */
import type { Pool, PoolClient } from 'pg';
import { causesOf, sqlStateOf } from './store-errors.ts';

/** Settings of a transaction whose statements all see the same moment, and change nothing. */
export const oneSnapshot = 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY';

/**
 * Runs `work` in a transaction, and resolves to its result once that is committed.
 * @param settings SQL to send together with BEGIN: `SET LOCAL lock_timeout = 3000`
 * @throws the error of `work` or of the commit, after a rollback
 */
export async function inTransaction<T>(
  pool: Pool,
  work: (client: PoolClient) => Promise<T>,
  settings?: string,
): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query(settings === undefined ? 'BEGIN' : `BEGIN; ${settings}`);
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  } catch (error) {
    // The next connection may begin with another setting or, through a pooler, lead to the primary.
    if (isReadOnly(error)) broken = error as Error;
    await client.query('ROLLBACK').catch((failure: Error) => {
      broken = failure; // a connection that cannot roll back is discarded, and the server rolls back
    });
    throw error;
  } finally {
    client.release(broken);
  }
}

const isReadOnly = (error: unknown) => causesOf(error).some((one) => sqlStateOf(one) === '25006');
