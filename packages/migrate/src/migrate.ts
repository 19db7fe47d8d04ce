/**
 * Applies a folder of Prisma migrations (`<timestamp>_<name>/migration.sql`) as `prisma migrate deploy` does, recorded in the
 * same table with the same checksums, so that either can follow the other. Prisma's own engine is a download that a
 * closed network does not have; our migrations are SQL files, which need none.
 */
import { createHash, randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';

export type Applied = { applied: string[]; present: number };

/**
 * Brings `schema` of the database up to the folder's last migration, under an advisory lock: of several processes that
 * start at once, one does the work and the others wait. Each migration runs in one transaction with its record.
 * @throws when a recorded migration failed half way, was changed since, or does not exist in the folder.
 */
export async function migrate(options: { databaseUrl: string; schema: string; folder: string }): Promise<Applied> {
  const client = new pg.Client({ connectionString: options.databaseUrl, application_name: 'gatepost-migrate' });
  await client.connect();
  try {
    const schema = client.escapeIdentifier(options.schema);
    await client.query('SELECT pg_advisory_lock(hashtextextended($1, 0))', [`gatepost migrate ${options.schema}`]);
    await client.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
    await client.query(`SET search_path TO ${schema}`);
    await client.query(recordsTable);
    const recorded = await client.query<Recorded>(
      'SELECT migration_name, checksum, finished_at, rolled_back_at FROM _prisma_migrations ORDER BY started_at',
    );
    const migrations = readMigrations(options.folder);
    const pending = pendingOf(
      migrations,
      recorded.rows.filter((row) => row.rolled_back_at === null),
    );
    for (const migration of pending) await apply(client, migration);
    return { applied: pending.map((migration) => migration.name), present: migrations.length };
  } finally {
    await client.end(); // and with the session goes its advisory lock
  }
}

export type Migration = { name: string; sql: string; checksum: string };
type Recorded = { migration_name: string; checksum: string; finished_at: Date | null; rolled_back_at: Date | null };

/** The migrations that have not run yet. @throws on any disagreement between the folder and the records. */
export function pendingOf(
  migrations: Migration[],
  recorded: Pick<Recorded, 'migration_name' | 'checksum' | 'finished_at'>[],
): Migration[] {
  const byName = new Map(migrations.map((migration) => [migration.name, migration]));
  for (const record of recorded) {
    const migration = byName.get(record.migration_name);
    if (!migration)
      throw new Error(
        `the database has migration ${record.migration_name}, which this version does not know: it is of a newer version`,
      );
    if (record.finished_at === null)
      throw new Error(
        `migration ${record.migration_name} failed half way; mend the database, then mark it with \`prisma migrate resolve\``,
      );
    if (record.checksum !== migration.checksum)
      throw new Error(`migration ${record.migration_name} was changed after it had been applied`);
    byName.delete(record.migration_name);
  }
  return [...byName.values()];
}

export function readMigrations(folder: string): Migration[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(join(folder, entry.name, 'migration.sql')))
    .map((entry) => entry.name)
    .sort()
    .map((name) => {
      const sql = readFileSync(join(folder, name, 'migration.sql'), 'utf8');
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    });
}

async function apply(client: pg.Client, migration: Migration): Promise<void> {
  await client.query('BEGIN');
  try {
    await client.query(migration.sql);
    await client.query(
      `INSERT INTO _prisma_migrations (id, checksum, migration_name, started_at, finished_at, applied_steps_count)
       VALUES ($1, $2, $3, now(), now(), 1)`,
      [randomUUID(), migration.checksum, migration.name],
    );
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    throw new Error(`migration ${migration.name} failed and was rolled back`, { cause: error });
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
