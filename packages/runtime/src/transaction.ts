/** A transaction on a pool's connection: begun, ended one way or the other, and the connection given back. */
import type { Pool, PoolClient } from 'pg';

/**
 * Runs `work` in a transaction and answers what it answers, once that is committed.
 * @param settings SQL that travels with the beginning: `SET LOCAL lock_timeout = 3000`
 * @throws what `work` or the commit threw, after a rollback
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
    await client.query('ROLLBACK').catch((failure: Error) => {
      broken = failure; // a connection that cannot roll back is thrown away, and the server rolls back
    });
    throw error;
  } finally {
    client.release(broken);
  }
}
