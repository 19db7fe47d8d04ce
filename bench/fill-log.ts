/**
 * Fills the delivery log: a thousand repositories with five hooks each, three days of deliveries, one in ten a failure. Each day's partition
 * is written separately, without indexes, and attached when full: row by row into the indexes would take half an hour. One hook may have a
 * large share, and never fails. Optionally fills the statistics to match the log.
 */
import pg from 'pg';

export type FilledHook = { id: number; repository: string };

const hooksEach = 5;
/** The shares of the day before yesterday, yesterday and today; `chunk` rows are written at a time. */
const days = [0.4, 0.4, 0.2];
const chunk = 250_000;
const writers = 2;

/**
 * @param databaseUrl a database with the webhooks' schema
 * @param options.hooks how many, default 5,000 @param options.busiest the share of the deliveries that one hook has, 0 to 1, default 0
 * @param options.counts whether to fill the statistics too, per minute and hook, as if they had always existed; default no
 * @returns the hooks in no particular order, and the one with the most deliveries, which never fails.
 */
export async function fillLog(
  databaseUrl: string,
  deliveries: number,
  options: { hooks?: number; busiest?: number; counts?: boolean } = {},
): Promise<{ hooks: FilledHook[]; busiest: FilledHook }> {
  await using stack = new AsyncDisposableStack();
  const open = async () => {
    const client = stack.adopt(
      // A crash empties unlogged tables, and reading them costs the same.
      new pg.Client({
        connectionString: databaseUrl,
        options: '-c search_path=webhooks -c synchronous_commit=off -c maintenance_work_mem=1GB',
      }),
      (opened) => opened.end(),
    );
    await client.connect();
    return client;
  };
  const database = await open();
  const hooks = await makeHooks(database, options.hooks ?? 5_000);
  const busiest = hooks[0]!;
  const ids = hooks.map(({ id }) => id);
  const partitions: Partition[] = [];
  for (const [index, share] of days.entries())
    partitions.push(await makePartition(database, share, days.length - 1 - index));
  const chunks = partitions.flatMap(({ table, day, share, seconds }) => {
    const rows = Math.round(share * deliveries);
    return Array.from({ length: Math.ceil(rows / chunk) }, (_, index) => ({
      table,
      day,
      rows: Math.min(chunk, rows - index * chunk),
      // Spread over the day; for the last one, over the part that has passed.
      beginsAfter: (index * chunk * seconds) / rows,
      apart: seconds / rows,
    }));
  });
  // Ids must rise with time, whichever connection writes them, so they are reserved in chunk order.
  let written = 0;
  let id = 0;
  const work = chunks.map((part) => {
    const from = id;
    id += part.rows;
    return { ...part, from };
  });
  await Promise.all(
    Array.from({ length: writers }, async () => {
      const client = await open();
      for (let part = work.shift(); part; part = work.shift()) {
        const { rows, day, from, beginsAfter, apart } = part;
        await client.query(insertInto(part.table), [rows, ids, day, from, options.busiest ?? 0, beginsAfter, apart]);
        written += part.rows;
        say(`filling the log: ${written.toLocaleString('en')}`);
      }
    }),
  );
  await database.query("SELECT setval('delivery_ids', $1)", [id + 1]);
  for (const { table, day } of partitions) {
    say(`indexing ${table}`);
    await database.query(
      `ALTER TABLE deliveries ATTACH PARTITION ${table} FOR VALUES FROM ('${day}') TO ('${nextDay(day)}')`,
    );
  }
  if (options.counts)
    for (const { table, day } of partitions) {
      say(`counting ${table}`);
      await makeWeek(database, day);
      await database.query(count(table));
    }
  if (options.counts) await database.query("UPDATE delivery_kinds_known SET since = '-infinity'");
  say('vacuuming');
  await database.query('VACUUM ANALYZE deliveries');
  await database.query('VACUUM ANALYZE delivery_stats');
  await database.query('CHECKPOINT');
  process.stderr.write('\n');
  return { hooks: hooks.toSorted(() => Math.random() - 0.5), busiest };
}

async function makeHooks(database: pg.Client, count: number): Promise<FilledHook[]> {
  await database.query(
    `INSERT INTO repositories (account_id, name) SELECT a.id, 'repo-' || n FROM accounts a, generate_series(1, $1) n WHERE a.login = 'acme'`,
    [count / hooksEach],
  );
  const { rows } = await database.query<FilledHook>(
    `INSERT INTO hooks (account_id, repository_id, events, url, content_type, created_by)
     SELECT r.account_id, r.id, '{push,issues}', 'https://example.com/hook/' || n, 'json', 'bench'
       FROM repositories r, generate_series(1, $1) n WHERE r.name LIKE 'repo-%'
     RETURNING id, (SELECT name FROM repositories r WHERE r.id = repository_id) AS repository`,
    [hooksEach],
  );
  return rows;
}

/** A day of the log, and how many of its seconds have passed. */
type Partition = { day: string; table: string; share: number; seconds: number };

/** Creates a day's partition, empty and detached, replacing the existing one. */
async function makePartition(database: pg.Client, share: number, daysAgo: number): Promise<Partition> {
  const { rows } = await database.query<Omit<Partition, 'share'>>(
    `SELECT day::text, 'deliveries_' || to_char(day, 'YYYYMMDD') AS table,
            least(86400, extract(epoch FROM now() AT TIME ZONE 'UTC' - day))::float8 AS seconds
       FROM (SELECT (now() AT TIME ZONE 'UTC')::date - $1::integer AS day) d`,
    [daysAgo],
  );
  const { day, table, seconds } = rows[0]!;
  await database.query(`DROP TABLE IF EXISTS ${table}; CREATE UNLOGGED TABLE ${table} (LIKE deliveries)`);
  return { day, table, share, seconds };
}

/** Creates the statistics' partition for the day's week, if it does not exist. */
async function makeWeek(database: pg.Client, day: string): Promise<void> {
  const { rows } = await database.query<{ monday: string; next: string }>(
    "SELECT monday::text, (monday + 7)::text AS next FROM (SELECT date_trunc('week', $1::timestamp)::date AS monday) w",
    [day],
  );
  const { monday, next } = rows[0]!;
  await database.query(
    `CREATE TABLE IF NOT EXISTS delivery_stats_${monday.replaceAll('-', '')} PARTITION OF delivery_stats FOR VALUES FROM ('${monday} 00:00+00') TO ('${next} 00:00+00')`,
  );
}

const nextDay = (day: string): string => new Date(Date.parse(day) + 86_400_000).toISOString().slice(0, 10);

const say = (text: string) => process.stderr.write(`\r${text.padEnd(60)}`);

// Hooks are drawn at random, as for events; the first one as often as $5 says.
const insertInto = (table: string) => `
  INSERT INTO ${table} (id, delivered_on, delivered_at, hook_id, account_id, repository_id, guid, event_key, event_on, event,
                        action, attempt, redelivery, status, status_code, error, duration_ms, timings, url, request_headers,
                        response_headers, response_body)
  SELECT $4::bigint + n, day, day AT TIME ZONE 'UTC' + ($6::float8 + (n - 1) * $7::float8) * interval '1 s', ($2::integer[])[hook],
         (SELECT id FROM accounts WHERE login = 'acme'), 1, guid, guid, day, 'push', null, 1, false,
         CASE WHEN failed THEN 'Invalid HTTP response' ELSE 'OK' END, CASE WHEN failed THEN 500 ELSE 200 END, null, 31,
         '{"dns":null,"connect":null,"tls":null,"first_byte":30,"total":31}', 'https://example.com/hook',
         '{"Accept":"*/*","Content-Type":"application/json","X-GitHub-Event":"push"}', '{"content-type":"text/plain"}', 'ok'
    FROM generate_series(1, $1::integer) n,
         LATERAL (SELECT $3::date AS day, gen_random_uuid() AS guid, n AS of,
                         CASE WHEN random() < $5::float8 THEN 1 ELSE 1 + floor(random() * cardinality($2::integer[]))::integer END AS hook OFFSET 0) d,
         LATERAL (SELECT n % 10 = 0 AND ($5 = 0 OR hook > 1) AS failed) f`;

/** SQL: the minutes of each hook, of the account and of all, as the dispatcher would have counted them (packages/webhook-db/src/stats.ts). */
const count = (table: string) => `
  INSERT INTO delivery_stats (account_id, hook_id, minute, part, delivered, failed, came_in, ms_50, kinds)
  SELECT coalesce(account_id, 0), coalesce(hook_id, 0), minute, 0, count(*) FILTER (WHERE status_code < 300), count(*) FILTER (WHERE status_code >= 300),
         CASE WHEN hook_id IS NULL THEN count(*) ELSE 0 END, count(*), CASE WHEN hook_id IS NOT NULL THEN bit_or(delivery_kinds(event, action, status_code >= 400, throttled_at IS NOT NULL)) END
    FROM (SELECT *, date_trunc('minute', delivered_at) AS minute FROM ${table}) d
   GROUP BY GROUPING SETS ((account_id, hook_id, minute), (account_id, minute), (minute)) ORDER BY 1, 2, 3
  ON CONFLICT DO NOTHING`;
