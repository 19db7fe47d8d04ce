import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { migrate } from '@gatepost/migrate/migrate';
import { openLog } from '@gatepost/runtime/log';
import { inTransaction } from '@gatepost/runtime/transaction';
import { withoutMain } from '@gatepost/testkit/program';
import { freshDatabase } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { listenForChanges } from '@gatepost/webhook-db/changes';
import { checkMigrated, migrateWebhooks, migrationsFolder } from '@gatepost/webhook-db/migrations';
import { openPool, schemaName } from '@gatepost/webhook-db/pool';
import { afterAll, expect, test } from '@jest/globals';
import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { Prisma, PrismaClient } from './generated/client.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const { url: databaseUrl } = stack.use(await freshDatabase());
await migrateWebhooks(databaseUrl);
const pool = stack.adopt(
  openPool({
    databaseUrl,
    name: 'test',
    max: 2,
    onError: (error) => {
      throw error;
    },
  }),
  (opened) => opened.end(),
);
const database = stack.adopt(new PrismaClient({ adapter: new PrismaPg(pool, { schema: schemaName }) }), (opened) =>
  opened.$disconnect(),
);

test('the program that migrates says what it did on every version of Node, also through a link, and names a missing database', async () => {
  const folder = stack.adopt(mkdtempSync(join(tmpdir(), 'linked-')), (path) => rmSync(path, { recursive: true }));
  symlinkSync(join(import.meta.dirname, '..'), join(folder, 'webhook-db'));
  const run = (env: Record<string, string>) => {
    const program = join(folder, 'webhook-db/src/migrations.ts');
    return promisify(execFile)(process.execPath, [...withoutMain, '--conditions=source', program], { env });
  };
  expect((await run({ DATABASE_URL: databaseUrl })).stdout).toMatch(/^webhooks: 0 of \d+ migrations applied now/);
  await expect(run({})).rejects.toMatchObject({
    stderr: expect.stringContaining('bad environment:\n  neither WEBHOOK_DATABASE_URL nor DATABASE_URL is set'),
  });
});

test('schema.prisma has every table and column of the migrated database, and no other', async () => {
  const { rows } = await pool.query<{ column: string }>(`
    SELECT c.relname || '.' || a.attname AS column
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE c.relnamespace = 'webhooks'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
      AND c.relname <> '_prisma_migrations'`);
  const migrated = rows.map((row) => row.column).sort();
  const known = Prisma.ModelName;
  const fields = await Promise.all(
    Object.values(known).map(async (model) => {
      const scalar = Prisma[`${model}ScalarFieldEnum` as 'HookScalarFieldEnum'];
      return Object.keys(scalar).map((field) => `${model}.${field}`);
    }),
  );
  expect(fields.flat().length).toBe(migrated.length);
  // Reading a row of each model selects all its columns: a missing column is an error.
  for (const model of Object.values(known)) {
    const delegate = database[(model[0]!.toLowerCase() + model.slice(1)) as 'hook'];
    await expect(delegate.findMany({ take: 1 })).resolves.toEqual(expect.any(Array));
  }
});

test('partitions exist from yesterday to the days ahead, and creating them again changes nothing', async () => {
  // In one transaction, in which no day ends; one may have ended since the migration.
  await inTransaction(pool, async (client) => {
    const partitions = async () => {
      const { rows } = await client.query(
        "SELECT relname FROM pg_class WHERE relispartition AND relkind = 'r' AND relnamespace = 'webhooks'::regnamespace ORDER BY 1",
      );
      return rows.map((row) => row.relname as string);
    };
    const { rows } = await client.query<{ day: string }>(
      "SELECT to_char((now() AT TIME ZONE 'UTC')::date + n, 'YYYYMMDD') AS day FROM generate_series(-1, 4) n ORDER BY n",
    );
    const days = rows.map(({ day }) => day);
    const migrated = await partitions();
    expect(migrated.filter((name) => name.startsWith('events_'))).toHaveLength(5);
    await client.query('SELECT ensure_partitions(3)');
    const before = await partitions();
    expect(before).toEqual(expect.arrayContaining(days.slice(0, 5).map((day) => `events_${day}`)));
    expect(migrated.includes(`events_${days[4]}`) ? before : migrated).toEqual(migrated);
    await client.query('SELECT ensure_partitions(4)');
    // A partition of statistics holds a week: on Thursdays, the fourth day ahead begins one.
    const made = (await partitions()).filter((name) => !before.includes(name) && !name.startsWith('delivery_stats_'));
    expect(made).toEqual([`deliveries_${days[5]}`, `events_${days[5]}`]);
  });
});

test('marking stored events as routed changes no index of theirs', async () => {
  await inTransaction(pool, async (client) => {
    await client.query(`
      INSERT INTO events (key, guid, source, event_id, type, occurred_at, hook_ids, delivery_ids, payload)
      SELECT gen_random_uuid(), gen_random_uuid(), 'https://example.com', n, 'push', now(), '{1}', ARRAY[n],
             (SELECT string_agg(decode(md5(n::text || i), 'hex'), '') FROM generate_series(1, 100) i)
        FROM generate_series(1, 100) n`);
    await client.query('UPDATE events SET routed_at = now() WHERE routed_at IS NULL');
    const { rows } = await client.query(
      "SELECT n_tup_upd::integer AS all, n_tup_hot_upd::integer AS in_place FROM pg_stat_xact_user_tables WHERE relname ~ '^events_' AND n_tup_upd > 0",
    );
    expect(rows).toEqual([{ all: 100, in_place: 100 }]);
  });
});

test('payloads and the bodies of answers are compressed by lz4, on future days, too', async () => {
  await inTransaction(pool, async (client) => {
    await client.query('SELECT ensure_partitions(9)');
    const { rows } = await client.query(`
      SELECT DISTINCT a.attname AS name, a.attcompression AS by
        FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid AND c.relnamespace = 'webhooks'::regnamespace AND c.relkind IN ('r', 'p')
       WHERE c.relname ~ '^(events|deliveries)(_[0-9]|$)' AND a.attname IN ('payload', 'response_body') ORDER BY 1`);
    expect(rows).toEqual([
      { name: 'payload', by: 'l' },
      { name: 'response_body', by: 'l' },
    ]);
  });
});

test('every change of an account is notified to listeners after its commit', async () => {
  const heard: number[] = [];
  let gaps = 0;
  await using changes = await listenForChanges({
    databaseUrl,
    pool,
    log: openLog('test', 'silent'),
    name: 'test',
    onChange: (id) => heard.push(id),
    onGap: () => {
      gaps += 1;
    },
  });
  expect(changes.isConnected()).toBe(true);
  const account = await database.account.create({ data: { login: 'acme' } });
  await until('the notification of the account', () => heard.includes(account.id));
  heard.length = 0;
  await database.hook.create({
    data: {
      accountId: account.id,
      events: ['push'],
      url: 'https://example.com',
      contentType: 'json',
      createdBy: 'auth0|alice',
    },
  });
  await until('the notification of the hook', () => heard.includes(account.id));
  expect(gaps).toBe(1);

  await pool.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()",
  );
  await until('the connection made anew', () => gaps >= 3 && changes.isConnected());
  heard.length = 0;
  await database.account.update({ where: { id: account.id }, data: { throttleRate: 5 } });
  await until('the notification after the reconnect', () => heard.includes(account.id));
});

test('on a schema without a migration, services do not start and say why in one line; newer migrations do not matter', async () => {
  await using other = await freshDatabase();
  await migrateWebhooks(other.url);
  const client = new pg.Client({ connectionString: other.url });
  await client.connect();
  await client.query(
    "UPDATE webhooks._prisma_migrations SET migration_name = '29990101000000_newer' WHERE migration_name LIKE '%_initial'",
  );
  await expect(checkMigrated(other.url)).rejects.toThrow(
    /1 migrations of this version are missing \(\d+_initial\): run this version's migrations first/,
  );
  await client.query(
    `INSERT INTO webhooks._prisma_migrations SELECT '1', checksum, finished_at, '20261121000000_initial', logs, rolled_back_at, started_at, 1
       FROM webhooks._prisma_migrations WHERE migration_name LIKE '%_newer'`,
  );
  await client.end();
  await checkMigrated(other.url);
  expect((await migrateWebhooks(other.url)).applied).toEqual([]);
});

// As in docs/deploying.md: then no writer of events has to wait.
test('an index of events that was built in advance for each day is used by its migration', async () => {
  await using fresh = await freshDatabase();
  const before = mkdtempSync(join(tmpdir(), 'migrations-'));
  for (const name of readdirSync(migrationsFolder).filter((one) => one < '20261123140000'))
    cpSync(join(migrationsFolder, name), join(before, name), { recursive: true });
  await migrate({ databaseUrl: fresh.url, schema: 'webhooks', folder: before });
  rmSync(before, { recursive: true });
  const client = new pg.Client({ connectionString: fresh.url });
  await client.connect();
  const { rows: days } = await client.query<{ name: string }>(
    "SELECT inhrelid::regclass AS name FROM pg_inherits WHERE inhparent = 'webhooks.events'::regclass ORDER BY 1",
  );
  for (const { name } of days)
    await client.query(`CREATE INDEX CONCURRENTLY ON ${name} (received_at) WHERE hook_ids <> '{}'`);
  const built = async () => {
    const { rows } = await client.query<{ oid: number }>(
      `SELECT indexrelid AS oid FROM pg_index WHERE indrelid = ANY ($1::regclass[]) AND pg_get_indexdef(indexrelid) LIKE '%(received_at) WHERE%' ORDER BY 1`,
      [days.map(({ name }) => name)],
    );
    return rows.map(({ oid }) => oid);
  };
  const beforehand = await built();
  expect(beforehand.length).toBe(days.length);
  await migrateWebhooks(fresh.url);
  expect(await built()).toEqual(beforehand);
  const { rows: taken } = await client.query<{ oid: number }>(
    "SELECT inhrelid AS oid FROM pg_inherits WHERE inhparent = 'webhooks.events_time_idx'::regclass ORDER BY 1",
  );
  expect(taken.map(({ oid }) => oid)).toEqual(beforehand);
  await client.end();
});
