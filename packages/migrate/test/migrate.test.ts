import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '@gatepost/migrate/migrate';
import { freshDatabase } from '@gatepost/testkit/stores';
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

test('of several processes that start at once, one applies and the others find it done', async () => {
  write('1_one', 'CREATE TABLE one (id integer);');
  write('2_two', 'CREATE TABLE two (id integer); INSERT INTO two VALUES (1);');
  const results = await Promise.all([run(), run(), run(), run()]);
  expect(results.map((result) => result.applied.length).sort()).toEqual([0, 0, 0, 2]);
});

test('a migration that fails leaves nothing behind, and can be mended and run again', async () => {
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
