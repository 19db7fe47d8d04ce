import { freshDatabase } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { openReads } from '../src/reads.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const { url } = stack.use(await freshDatabase());
const admin = stack.adopt(new pg.Pool({ connectionString: url, max: 1 }), (pool) => pool.end());
const reads = stack.use(openReads({ databaseUrl: url, name: 'reads', max: 2, onError: () => {} }));

const double = (n: number) => ({ name: 'double', text: 'SELECT $1::integer * 2 AS twice', values: [n] });
const connections = async () =>
  (await admin.query("SELECT pid FROM pg_stat_activity WHERE application_name = 'reads'")).rows as { pid: number }[];

test('a hundred simultaneous statements each get their own answer, over two connections', async () => {
  const answers = await Promise.all(Array.from({ length: 100 }, (_, n) => reads.query(double(n))));
  expect(answers.map(({ rows }) => rows[0].twice)).toEqual(Array.from({ length: 100 }, (_, n) => n * 2));
  expect(await connections()).toHaveLength(2);
});

test('a statement that fails is rejected alone', async () => {
  const answers = await Promise.allSettled([
    reads.query(double(1)),
    reads.query({ text: 'SELECT 1 / $1::integer', values: [0] }),
    reads.query(double(2)),
    reads.query(double(3)),
  ]);
  expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
});

test('a connection that breaks rejects the statements in flight, and is made again', async () => {
  await reads.query(double(1));
  const slow = reads.query({ text: 'SELECT pg_sleep(20)' });
  const broken = expect(slow).rejects.toThrow(/terminat/i);
  await until(
    'the statement under way',
    async () =>
      (await admin.query("SELECT FROM pg_stat_activity WHERE application_name = 'reads' AND query LIKE '%pg_sleep%'"))
        .rowCount,
  );
  for (const { pid } of await connections()) await admin.query('SELECT pg_terminate_backend($1)', [pid]);
  await broken;
  await until('a new connection', () =>
    reads.query(double(21)).then(
      ({ rows }) => rows[0].twice === 42,
      () => false,
    ),
  );
});

test('a connection that breaks while the pool is closing does not end the process', async () => {
  const own = openReads({ databaseUrl: url, name: 'closing', max: 1, onError: () => {} });
  await own.query(double(1));
  await admin.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'closing'");
  await own[Symbol.asyncDispose](); // before the news of it was read, or just after
});
