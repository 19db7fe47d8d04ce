import { inTransaction } from '@gatepost/runtime/transaction';
import { setReadOnly } from '@gatepost/testkit/postgres-server';
import { freshDatabase } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { expect, test } from '@jest/globals';
import { openPool } from '../src/pool.ts';

test('a connection in use that breaks between two statements rejects the next statement, and nothing else', async () => {
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

test('a transaction is committed as a whole or not at all, and its connection can be used again', async () => {
  await using database = await freshDatabase();
  const pool = openPool({ databaseUrl: database.url, name: 'test', max: 1, onError: () => {} });
  await pool.query('CREATE SCHEMA IF NOT EXISTS webhooks; CREATE TABLE notes (note text)');
  const note = (text: string) => inTransaction(pool, (client) => client.query('INSERT INTO notes VALUES ($1)', [text]));
  await note('kept');
  await expect(
    inTransaction(pool, async (client) => {
      await client.query("INSERT INTO notes VALUES ('taken back')");
      throw new Error('on second thoughts');
    }),
  ).rejects.toThrow('on second thoughts');
  await expect(
    inTransaction(pool, async (client) => {
      const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      await client.query('SELECT pg_terminate_backend($1)', [rows[0]!.pid]);
    }),
  ).rejects.toThrow();
  await note('kept, too');
  const { rows } = await pool.query<{ note: string }>('SELECT note FROM notes ORDER BY note');
  expect(rows.map((row) => row.note)).toEqual(['kept', 'kept, too']);
  await pool.end();
});

test('a transaction that was refused as read-only closes its connection, which would stay so', async () => {
  await using database = await freshDatabase();
  await setReadOnly(database.url, true);
  const pool = openPool({ databaseUrl: database.url, name: 'test', max: 1, onError: () => {} });
  const write = () => inTransaction(pool, (client) => client.query('CREATE SCHEMA webhooks'));
  await expect(write()).rejects.toMatchObject({ code: '25006' });
  await setReadOnly(database.url, false);
  await write();
  await pool.end();
});

test('the minimum of connections is opened before anybody asks for one', async () => {
  await using database = await freshDatabase();
  const pool = openPool({ databaseUrl: database.url, name: 'test', max: 4, keeps: 3, onError: () => {} });
  await until('they are open', () => pool.idleCount === 3);
  expect(pool.totalCount).toBe(3);
  await pool.query('SELECT 1');
  expect(pool.totalCount).toBe(3);
  await pool.end();
});

test('a query to a PostgreSQL that cannot be reached is rejected, and nothing else fails', async () => {
  const pool = openPool({
    databaseUrl: 'postgres://127.0.0.1:1/none',
    name: 'test',
    max: 2,
    keeps: 2,
    onError: () => {},
  });
  await expect(pool.query('SELECT 1')).rejects.toThrow('ECONNREFUSED');
  await pool.end();
});

// pg used the URL's instead of ours: no table was found, and the service said that its migrations were missing.
test('options in the URL apply beside our own, which have precedence', async () => {
  await using database = await freshDatabase();
  const url = new URL(database.url);
  url.searchParams.set('options', '-c work_mem=3MB -c search_path=elsewhere');
  const pool = openPool({ databaseUrl: url.href, name: 'test', max: 1, statementTimeoutMs: 7_000, onError: () => {} });
  const { rows } = await pool.query<{ name: string; setting: string }>(
    "SELECT name, setting FROM pg_settings WHERE name IN ('work_mem', 'search_path', 'statement_timeout') ORDER BY name",
  );
  expect(rows.map(({ setting }) => setting)).toEqual(['webhooks', '7000', '3072']);
  await pool.end();
});
