import { freshDatabase } from '@gatepost/testkit/stores';
import { expect, test } from '@jest/globals';
import { openPool } from '../src/pool.ts';

test('a connection in somebody’s hands that breaks between two statements rejects the next one, and nothing else', async () => {
  // The driver raised it as an 'error' that nobody listened to: a dispatcher in a transaction ended when PostgreSQL did.
  await using database = await freshDatabase();
  const pool = openPool({ databaseUrl: database.url, name: 'test', max: 2, onError: () => {} });
  const client = await pool.connect();
  await client.query('BEGIN');
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const ended = new Promise((resolve) => client.once('end', resolve));
  await pool.query('SELECT pg_terminate_backend($1)', [rows[0]!.pid]);
  await ended;
  const failure = await client.query('SELECT 1').then(
    () => undefined,
    (error: Error) => error,
  );
  expect(failure).toBeInstanceOf(Error);
  client.release(failure);
  expect((await pool.query<{ one: number }>('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  await pool.end();
});
