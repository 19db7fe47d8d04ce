/**
 * How a migration affects code running beside it: during an upgrade, code of the previous version reads and writes the same tables, so
 * everything it knew must still exist, and nothing new may be required of it.
 */
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';

type Column = { type: string; required: boolean; filled: boolean };
type Catalogue = {
  /** By `table.column`. */
  columns: Map<string, Column>;
  /** Constraints on a table's rows, by their text, with the columns they use. */
  demands: Map<string, string[]>;
  /** Unique indexes, by table, columns and condition: what ON CONFLICT can name. */
  uniques: Set<string>;
  functions: Set<string>;
  tables: Set<string>;
};

/**
 * Applies the folder's migrations one by one, with `migrate`, and reports what each after `since` takes from code of the previous version, or
 * newly requires of it.
 */
export async function findBreaks(options: {
  databaseUrl: string;
  schema: string;
  folder: string;
  since: string;
  migrate: (folder: string) => Promise<unknown>;
}): Promise<string[]> {
  const { databaseUrl, schema, folder, since } = options;
  const names = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
  if (!names.includes(since)) throw new Error(`there is no migration ${since}`);
  const some = mkdtempSync(join(tmpdir(), 'migrations-'));
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const add = (name: string) => cpSync(join(folder, name), join(some, name), { recursive: true });
    names.filter((name) => name <= since).forEach(add);
    await options.migrate(some);
    let before = await readCatalogue(client, schema);
    const breaks: string[] = [];
    for (const name of names.filter((one) => one > since)) {
      add(name);
      await options.migrate(some);
      const after = await readCatalogue(client, schema);
      breaks.push(...breaksBetween(before, after).map((what) => `${name}: ${what}`));
      before = after;
    }
    return breaks;
  } finally {
    await client.end();
    rmSync(some, { recursive: true });
  }
}

function breaksBetween(before: Catalogue, after: Catalogue): string[] {
  const breaks: string[] = [];
  const tableOf = (column: string) => column.slice(0, column.lastIndexOf('.'));
  for (const table of before.tables) if (!after.tables.has(table)) breaks.push(`the table ${table} is gone`);
  for (const [name, column] of before.columns) {
    const now = after.columns.get(name);
    if (!now) {
      if (after.tables.has(tableOf(name))) breaks.push(`the column ${name} is gone`);
      continue;
    }
    if (now.type !== column.type) breaks.push(`${name} was ${column.type} and is ${now.type}`);
    if (now.required && !column.required) breaks.push(`${name} may be null no more`);
    if (now.required && column.filled && !now.filled) breaks.push(`${name} has no default any more`);
  }
  for (const [name, column] of after.columns)
    if (!before.columns.has(name) && before.tables.has(tableOf(name)) && column.required && !column.filled)
      breaks.push(`${name} is new, and must be given`);
  for (const [demand, columns] of after.demands)
    if (
      !before.demands.has(demand) &&
      // A constraint on all rows may become one on some of them.
      !before.demands.has(demand.replace(/ WHERE .*/s, '')) &&
      columns.every((column) => before.columns.has(column))
    )
      breaks.push(`new for what was there before: ${demand}`);
  // PostgreSQL refuses an INSERT … ON CONFLICT that finds no such index (42P10).
  for (const unique of before.uniques)
    if (!after.uniques.has(unique)) breaks.push(`ON CONFLICT finds no more: ${unique}`);
  for (const one of before.functions) if (!after.functions.has(one)) breaks.push(`the function ${one} is gone`);
  return breaks;
}

async function readCatalogue(client: pg.Client, schema: string): Promise<Catalogue> {
  // Excludes partitions, which come and go, and Prisma's records.
  const ours = `FROM pg_class c WHERE c.relnamespace = $1::regnamespace AND c.relkind IN ('r', 'p', 'v') AND NOT c.relispartition
                 AND c.relname <> '_prisma_migrations'`;
  const tables = await client.query<{ name: string }>(`SELECT c.relname AS name ${ours}`, [schema]);
  const columns = await client.query<{ name: string } & Column>(
    `SELECT t.relname || '.' || a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type, a.attnotnull AS required,
            a.atthasdef OR a.attidentity <> '' AS filled
       FROM (SELECT c.oid, c.relname ${ours}) t JOIN pg_attribute a ON a.attrelid = t.oid WHERE a.attnum > 0 AND NOT a.attisdropped`,
    [schema],
  );
  // An index that belongs to a constraint is covered by the constraint.
  const demands = await client.query<{ text: string; columns: string[] }>(
    `SELECT t.relname || ': ' || pg_get_constraintdef(k.oid) AS text,
            ARRAY(SELECT t.relname || '.' || a.attname FROM pg_attribute a WHERE a.attrelid = t.oid AND a.attnum = ANY (k.conkey)) AS columns
       FROM (SELECT c.oid, c.relname ${ours}) t JOIN pg_constraint k ON k.conrelid = t.oid
     UNION ALL
     SELECT t.relname || ': ' || pg_get_indexdef(i.indexrelid),
            ARRAY(SELECT t.relname || '.' || a.attname FROM pg_attribute a WHERE a.attrelid = t.oid AND a.attnum = ANY (i.indkey))
       FROM (SELECT c.oid, c.relname ${ours}) t JOIN pg_index i ON i.indrelid = t.oid AND i.indisunique
      WHERE NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid)`,
    [schema],
  );
  const uniques = await client.query<{ text: string }>(
    `SELECT t.relname || ': ' || regexp_replace(pg_get_indexdef(i.indexrelid), '^.*? USING ', '') AS text
       FROM (SELECT c.oid, c.relname ${ours}) t JOIN pg_index i ON i.indrelid = t.oid AND i.indisunique`,
    [schema],
  );
  const functions = await client.query<{ name: string }>(
    'SELECT p.oid::regprocedure::text AS name FROM pg_proc p WHERE p.pronamespace = $1::regnamespace',
    [schema],
  );
  return {
    tables: new Set(tables.rows.map(({ name }) => name)),
    columns: new Map(columns.rows.map(({ name, ...column }) => [name, column])),
    demands: new Map(demands.rows.map(({ text, columns }) => [text, columns])),
    uniques: new Set(uniques.rows.map(({ text }) => text)),
    functions: new Set(functions.rows.map(({ name }) => name)),
  };
}
