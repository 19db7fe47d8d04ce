/**
 * Applies a folder of Prisma migrations (`<timestamp>_<name>/migration.sql`) as `prisma migrate deploy` does, recorded in the same table with
 * the same checksums, so that either can follow the other. Prisma's own engine is a download that a closed network lacks; our migrations
 * are SQL files and do not need one.
 */
import { createHash, randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';

export type Applied = { applied: string[]; present: number };

/** How long a migration waits for a lock, while all others wait behind it, and how often it tries. */
const lockTimeoutMs = 2_000;
const triesMax = 30;
const againMs = 1_000;

/** How long PostgreSQL may take to let us in, or to say what is recorded. */
const answerTimeoutMs = 5_000;

/**
 * Brings the database's `schema` up to the folder's last migration. Each migration runs in one transaction with its record, under an advisory
 * lock: of several processes starting at once, one does the work and the others wait. Settings are made within each transaction, so that
 * nothing depends on a session. A migration that does not get its locks in two seconds lets others pass and tries again, for about 90 seconds.
 * @throws when a recorded migration failed half way, was changed since, or does not exist in the folder.
 */
export async function migrate(options: {
  databaseUrl: string;
  schema: string;
  folder: string;
  tries?: number;
}): Promise<Applied> {
  const migrations = readMigrations(options.folder);
  const client = makeClient(options.databaseUrl);
  await client.connect();
  try {
    const applied: string[] = [];
    for (let failures = 0; ; failures += 1) {
      const outcome = await applyNext(client, options.schema, migrations);
      if (outcome === 'none') return { applied, present: migrations.length };
      if (outcome.applied) {
        applied.push(outcome.name);
        failures = -1; // each has its own tries
      } else if (failures + 1 >= (options.tries ?? triesMax))
        throw new Error(
          `migration ${outcome.name} did not get its locks, and changed nothing: somebody holds them (pg_stat_activity)`,
          { cause: outcome.error },
        );
      else await wait(againMs);
    }
  } finally {
    await client.end();
  }
}

/**
 * Limits of the user or the database are meant for everyday statements: the index of a large table, or waiting for another process's, takes longer.
 * PostgreSQL before 17 has no `transaction_timeout`.
 */
const withoutLimits = `SELECT set_config(name, '0', true) FROM pg_settings
  WHERE name IN ('statement_timeout', 'lock_timeout', 'transaction_timeout')`;

type Outcome = 'none' | { name: string; applied: true } | { name: string; applied: false; error: unknown };

async function applyNext(client: pg.Client, schemaName: string, migrations: Migration[]): Promise<Outcome> {
  const schema = client.escapeIdentifier(schemaName);
  await client.query(`BEGIN; ${withoutLimits}`);
  try {
    await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`gatepost migrate ${schemaName}`]);
    // Even IF NOT EXISTS takes the right to create schemas, which a schema's owner need not have.
    const there = await client.query('SELECT FROM pg_namespace WHERE nspname = $1', [schemaName]);
    if (there.rowCount === 0) await client.query(`CREATE SCHEMA ${schema}`);
    await client.query(`SET LOCAL search_path TO ${schema}; ${recordsTable}`);
    const recorded = await client.query<Recorded>(
      'SELECT migration_name, checksum, finished_at, rolled_back_at FROM _prisma_migrations ORDER BY started_at',
    );
    const [next] = pendingOf(
      migrations,
      recorded.rows.filter((row) => row.rolled_back_at === null),
    );
    const outcome = next ? await apply(client, next) : 'none';
    await client.query('COMMIT');
    return outcome;
  } catch (error) {
    await client.query('ROLLBACK');
    if (error instanceof LocksAreHeld) return { name: error.migration, applied: false, error: error.cause };
    throw error;
  }
}

class LocksAreHeld extends Error {
  readonly migration: string;
  constructor(migration: string, cause: unknown) {
    super('lock timeout', { cause });
    this.migration = migration;
  }
}

/**
 * The folder's migrations that `schema` lacks, for processes that must not migrate. Changes nothing; additional migrations of a newer version do
 * no harm, so that both versions may run during an upgrade.
 */
export async function findMissing(options: { databaseUrl: string; schema: string; folder: string }): Promise<string[]> {
  const client = makeClient(options.databaseUrl, { query_timeout: answerTimeoutMs });
  await client.connect();
  try {
    const table = `${client.escapeIdentifier(options.schema)}._prisma_migrations`;
    const exists = await client.query('SELECT to_regclass($1) IS NOT NULL AS yes', [table]);
    const recorded = exists.rows[0].yes
      ? await client.query<Recorded>(
          `SELECT migration_name FROM ${table} WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL`,
        )
      : { rows: [] };
    const names = new Set(recorded.rows.map((row) => row.migration_name));
    return readMigrations(options.folder)
      .map(({ name }) => name)
      .filter((name) => !names.has(name));
  } finally {
    await client.end();
  }
}

/** A migration may run for as long as it takes; whoever waits for anything else should give a `query_timeout`. */
function makeClient(connectionString: string, limits: { query_timeout?: number } = {}): pg.Client {
  const client = new pg.Client({
    connectionString,
    application_name: 'gatepost-migrate',
    keepAlive: true,
    connectionTimeoutMillis: answerTimeoutMs,
    ...limits,
  });
  client.on('error', () => {}); // the statement that it breaks rejects
  return client;
}

export type Migration = { name: string; sql: string; checksum: string };
type Recorded = { migration_name: string; checksum: string; finished_at: Date | null; rolled_back_at: Date | null };

/**
 * The migrations that have not run yet. Additions by a newer version are accepted if none of ours is missing: during an upgrade a process of
 * this version may be started again. @throws on any other disagreement between the folder and the records.
 */
export function pendingOf(
  migrations: Migration[],
  recorded: Pick<Recorded, 'migration_name' | 'checksum' | 'finished_at'>[],
): Migration[] {
  const byName = new Map(migrations.map((migration) => [migration.name, migration]));
  const newest = migrations.at(-1)?.name ?? '';
  const unknown: string[] = [];
  for (const record of recorded) {
    const migration = byName.get(record.migration_name);
    if (!migration) {
      unknown.push(record.migration_name);
      continue;
    }
    if (record.finished_at === null)
      throw new Error(
        `migration ${record.migration_name} failed half way; mend the database, then mark it with \`prisma migrate resolve\``,
      );
    if (record.checksum !== migration.checksum)
      throw new Error(`migration ${record.migration_name} was changed after it had been applied`);
    byName.delete(record.migration_name);
  }
  const strange = unknown.find((name) => byName.size > 0 || name < newest);
  if (strange)
    throw new Error(
      `the database has migration ${strange}, which this version does not know: it is of another version`,
    );
  return [...byName.values()];
}

function readMigrations(folder: string): Migration[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(join(folder, entry.name, 'migration.sql')))
    .map((entry) => entry.name)
    .sort()
    .map((name) => {
      const sql = readFileSync(join(folder, name, 'migration.sql'), 'utf8');
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    });
}

/** lock_not_available, from our timeout; deadlock_detected, with transactions in progress. */
const givesWay = new Set<string | undefined>(['55P03', '40P01']);

async function apply(client: pg.Client, { name, sql, checksum }: Migration): Promise<Outcome> {
  try {
    await client.query(`SET LOCAL lock_timeout = ${lockTimeoutMs}`);
    await client.query(sql);
    await client.query(
      `INSERT INTO _prisma_migrations (id, checksum, migration_name, started_at, finished_at, applied_steps_count)
       VALUES ($1, $2, $3, now(), now(), 1)`,
      [randomUUID(), checksum, name],
    );
    return { name, applied: true };
  } catch (cause) {
    if (givesWay.has((cause as { code?: string }).code)) throw new LocksAreHeld(name, cause);
    throw new Error(`migration ${name} failed and was rolled back`, { cause });
  }
}

// Prisma's own definition of the table.
const recordsTable = `CREATE TABLE IF NOT EXISTS _prisma_migrations (
  id                  VARCHAR(36) PRIMARY KEY NOT NULL,
  checksum            VARCHAR(64) NOT NULL,
  finished_at         TIMESTAMPTZ,
  migration_name      VARCHAR(255) NOT NULL,
  logs                TEXT,
  rolled_back_at      TIMESTAMPTZ,
  started_at          TIMESTAMPTZ NOT NULL DEFAULT now(),
  applied_steps_count INTEGER NOT NULL DEFAULT 0
)`;
