import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findMissing, migrate } from '@gatepost/migrate/migrate';
import { type Cuttable, openCuttable } from '@gatepost/testkit/cut';
import { openPgBouncer } from '@gatepost/testkit/pgbouncer';
import { freshDatabase } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import pg from 'pg';

const database = await freshDatabase();
afterAll(async () => await database[Symbol.asyncDispose]());

const folder = mkdtempSync(join(tmpdir(), 'migrations-'));
const write = (name: string, sql: string) => {
  mkdirSync(join(folder, name));
  writeFileSync(join(folder, name, 'migration.sql'), sql);
};
const run = () => migrate({ databaseUrl: database.url, schema: 'things', folder });

test('when several processes start at once, each migration is applied by one and found done by the others', async () => {
  write('1_one', 'CREATE TABLE one (id integer);');
  write('2_two', 'CREATE TABLE two (id integer); INSERT INTO two VALUES (1);');
  const results = await Promise.all([run(), run(), run(), run()]);
  expect(results.flatMap((result) => result.applied).sort()).toEqual(['1_one', '2_two']);
});

test('a migration that fails leaves nothing behind, and can be corrected and run again', async () => {
  write('3_three', 'CREATE TABLE three (id integer); SELECT nonsense;');
  await expect(run()).rejects.toThrow('3_three failed and was rolled back');
  writeFileSync(join(folder, '3_three', 'migration.sql'), 'CREATE TABLE three (id integer);');
  expect((await run()).applied).toEqual(['3_three']);

  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const { rows } = await client.query(
    'SELECT migration_name, applied_steps_count FROM things._prisma_migrations ORDER BY 1',
  );
  await client.end();
  expect(rows.map((row) => row.migration_name)).toEqual(['1_one', '2_two', '3_three']);
});

// Many a DBA gives each user a statement_timeout: the index of a large table was never built, however often it was tried.
test('limits of its user for statements and locks do not apply to a migration, nor to those who wait for it', async () => {
  const limited = new URL(database.url);
  limited.searchParams.set('options', '-c statement_timeout=300 -c lock_timeout=300');
  const slowly = () => migrate({ databaseUrl: limited.href, schema: 'slow', folder: slow });
  const slow = mkdtempSync(join(tmpdir(), 'migrations-'));
  mkdirSync(join(slow, '1_slow'));
  writeFileSync(join(slow, '1_slow', 'migration.sql'), 'CREATE TABLE slow (id integer); SELECT pg_sleep(1);');
  const results = await Promise.all([slowly(), slowly()]);
  expect(results.flatMap((result) => result.applied)).toEqual(['1_slow']);
});

test('a migration that does not get its lock gives way to others and tries again', async () => {
  const holder = new pg.Client({ connectionString: database.url });
  await holder.connect();
  await holder.query('BEGIN; LOCK TABLE things.one IN ACCESS SHARE MODE');
  write('4_four', 'ALTER TABLE one ADD COLUMN name text;');
  await expect(migrate({ databaseUrl: database.url, schema: 'things', folder, tries: 1 })).rejects.toThrow(
    '4_four did not get its locks, and changed nothing',
  );
  const migrating = run();
  await holder.query('SELECT pg_sleep(2.5)'); // longer than one try
  await holder.query('COMMIT');
  expect((await migrating).applied).toEqual(['4_four']);
  await holder.end();
});

test('a migration that runs into a deadlock with other statements tries again', async () => {
  const holder = new pg.Client({ connectionString: database.url });
  const observer = new pg.Client({ connectionString: database.url });
  await Promise.all([holder.connect(), observer.connect()]);
  // PostgreSQL ends whoever looks for a deadlock first: never those at work here.
  await holder.query("SET deadlock_timeout = '5min'; BEGIN; LOCK TABLE things.two IN ACCESS SHARE MODE");
  write('5_five', 'ALTER TABLE one ADD COLUMN more text; ALTER TABLE two ADD COLUMN more text;');
  const migrating = run();
  await until('the migration to wait for the second table', async () => {
    const { rows } = await observer.query(
      "SELECT FROM pg_locks WHERE relation = 'things.two'::regclass AND NOT granted",
    );
    return rows.length > 0;
  });
  await holder.query('SELECT FROM things.one');
  await holder.query('COMMIT');
  expect((await migrating).applied).toEqual(['5_five']);
  await Promise.all([holder.end(), observer.end()]);
});

test('the owner of a schema may migrate it without the right to create others', async () => {
  const owner = `owner_${randomBytes(6).toString('hex')}`;
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query(`CREATE ROLE ${owner} LOGIN PASSWORD 'owner'; CREATE SCHEMA owned AUTHORIZATION ${owner}`);
  const url = Object.assign(new URL(database.url), { username: owner, password: 'owner' });
  const migrating = migrate({ databaseUrl: url.href, schema: 'owned', folder });
  const [outcome] = await Promise.allSettled([migrating]);
  await client.query(`DROP OWNED BY ${owner}; DROP ROLE ${owner}`);
  await client.end();
  expect(outcome).toMatchObject({ value: { applied: expect.arrayContaining(['1_one']) } });
});

test('a PostgreSQL that accepts connections and says nothing is given up on', async () => {
  await using silent = await openCuttable(database.url);
  silent.hold(true);
  const there = { databaseUrl: silent.url, schema: 'things', folder };
  const outcomes = await Promise.allSettled([migrate(there), findMissing(there)]);
  expect(outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason.message)).toEqual([
    'timeout expired',
    'timeout expired',
  ]);
});

test.each([
  ['is cut', 'Connection terminated unexpectedly', (server: Cuttable) => server.cut()],
  ['goes silent', 'Query read timeout', (server: Cuttable) => server.hold(true)],
])('a check for missing migrations whose connection %s fails, and nothing else does', async (_what, message, harm) => {
  await using server = await openCuttable(database.url);
  const holder = new pg.Client({ connectionString: database.url });
  await holder.connect();
  await holder.query('BEGIN; LOCK TABLE things._prisma_migrations');
  const checking = findMissing({ databaseUrl: server.url, schema: 'things', folder });
  checking.catch(() => {}); // awaited below
  await until('the check to wait for the table', async () => {
    const { rows } = await holder.query(
      "SELECT FROM pg_locks WHERE relation = 'things._prisma_migrations'::regclass AND NOT granted",
    );
    return rows.length > 0;
  });
  await harm(server);
  await expect(checking).rejects.toThrow(message);
  await holder.end();
});

// What used to happen through PgBouncer: the search path was set in one session, and the migration ran in another.
test('schemas behind one pooler with few sessions each get their own tables', async () => {
  await using bouncer = await openPgBouncer(database.url, { sessions: 2 });
  const schemas = ['left', 'right', 'middle'];
  await Promise.all(schemas.map((schema) => migrate({ databaseUrl: bouncer.url, schema, folder })));
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const { rows } = await client.query(
    "SELECT table_schema AS schema FROM information_schema.columns WHERE table_name = 'one' AND column_name = 'name' ORDER BY 1",
  );
  await client.end();
  expect(rows.map(({ schema }) => schema)).toEqual(['left', 'middle', 'right', 'things']);
});
