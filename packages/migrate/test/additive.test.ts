/** Migrations that may run while services of the version before are at work. */
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { migrate } from '@gatepost/migrate/migrate';
import { findBreaks } from '@gatepost/testkit/additive';
import { freshDatabase } from '@gatepost/testkit/stores';
import { afterAll, expect, test } from '@jest/globals';

const database = await freshDatabase();
afterAll(async () => await database[Symbol.asyncDispose]());
const root = fileURLToPath(new URL('../../..', import.meta.url));

/** The last migrations that need not be additive. With a release these become the last that it knows. */
const since = [
  ['auth', 'services/auth', '20261122130600_custom_texts'],
  ['webhooks', 'packages/webhook-db', '20261122130900_events_taken_by'],
] as const;

/** What the version before lost without using it: none of its statements names these columns in ON CONFLICT. */
const unused = ['20261122205000_upstream: ON CONFLICT finds no more: accounts: btree (connection, email)'];

test.each(since)(
  'the migrations of `%s` remove nothing that the previous version uses, and require nothing new of it',
  async (schema, owner, since) => {
    const folder = join(root, owner, 'prisma/migrations');
    const { url: databaseUrl } = database;
    const breaks = await findBreaks({
      databaseUrl,
      schema,
      folder,
      since,
      migrate: (folder) => migrate({ databaseUrl, schema, folder }),
    });
    expect(breaks.filter((one) => !unused.includes(one))).toEqual([]);
  },
);

test('a migration that removes something or requires something new is found', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'migrations-'));
  const write = (name: string, sql: string) => {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, 'migration.sql'), sql);
  };
  write(
    '1_before',
    `CREATE TABLE kept (id integer PRIMARY KEY, gone text, wide integer, open text, filled text NOT NULL DEFAULT '');
     CREATE UNIQUE INDEX kept_both_idx ON kept (filled, open);
     CREATE UNIQUE INDEX kept_some_idx ON kept (open, filled) WHERE filled > '';
     CREATE TABLE dropped (id integer);
     CREATE FUNCTION helps() RETURNS integer LANGUAGE sql AS 'SELECT 1';`,
  );
  write(
    '2_fine',
    'ALTER TABLE kept ADD COLUMN more text, ADD COLUMN kind text DEFAULT 1 CHECK (kind <> $$no$$); CREATE TABLE fresh (id integer NOT NULL);',
  );
  write(
    '3_not',
    `ALTER TABLE kept DROP COLUMN gone, ALTER COLUMN wide TYPE bigint, ALTER COLUMN open SET NOT NULL, ALTER COLUMN filled DROP DEFAULT,
       ADD COLUMN must text NOT NULL, ADD CHECK (wide > 0);
     DROP INDEX kept_both_idx; CREATE UNIQUE INDEX kept_both_idx ON kept (filled, open) WHERE open > 'm'; DROP INDEX kept_some_idx;
     DROP TABLE dropped; DROP FUNCTION helps; CREATE UNIQUE INDEX ON kept (open);`,
  );
  const { url: databaseUrl } = database;
  const breaks = await findBreaks({
    databaseUrl,
    schema: 'made_up',
    folder,
    since: '1_before',
    migrate: (some) => migrate({ databaseUrl, schema: 'made_up', folder: some }),
  });
  expect(breaks.sort()).toEqual([
    '3_not: ON CONFLICT finds no more: kept: btree (filled, open)',
    "3_not: ON CONFLICT finds no more: kept: btree (open, filled) WHERE (filled > ''::text)",
    '3_not: kept.filled has no default any more',
    '3_not: kept.must is new, and must be given',
    '3_not: kept.open may be null no more',
    '3_not: kept.wide was integer and is bigint',
    '3_not: new for what was there before: kept: CHECK ((wide > 0))',
    expect.stringMatching(/^3_not: new for what was there before: kept: CREATE UNIQUE INDEX /),
    '3_not: the column kept.gone is gone',
    '3_not: the function made_up.helps() is gone',
    '3_not: the table dropped is gone',
  ]);
});
