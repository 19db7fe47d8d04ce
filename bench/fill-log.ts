/**
 * Fills the delivery log: a thousand repositories with five hooks each, three days of deliveries, one in ten a failure. Each day's
 * partition is written aside, without indexes, and attached when it is full: row by row into the indexes would take half an hour.
 * One hook may have a large share of it, and never fails.
 */
import pg from 'pg';

export type FilledHook = { id: number; repository: string };

const hooksEach = 5;
/** The shares of the day before yesterday, yesterday and today, each written as so many rows at a time. */
const days = [0.4, 0.4, 0.2];
const chunk = 250_000;
const writers = 2;

/**
 * @param databaseUrl a database with the webhooks' schema
 * @param options.hooks how many, default 5,000 @param options.busiest the share of the deliveries that one hook has, 0 to 1, default 0
 * @returns the hooks, in no order in particular, and the one that has the most, which never fails.
 */
export async function fillLog(
  databaseUrl: string,
  deliveries: number,
  options: { hooks?: number; busiest?: number } = {},
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
  const partitions = await Promise.all(
    days.map((share, index) => makePartition(database, share, days.length - 1 - index)),
  );
  const chunks = partitions.flatMap(({ table, day, share }) =>
    Array.from({ length: Math.ceil((share * deliveries) / chunk) }, (_, index) => ({
      table,
      day,
      first: index * chunk,
      rows: Math.min(chunk, Math.round(share * deliveries) - index * chunk),
    })),
  );
  // Ids rise with time, whoever writes them: reserved in the order of the chunks.
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
        await client.query(insertInto(part.table), [part.rows, ids, part.day, part.from, options.busiest ?? 0]);
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
  say('vacuuming');
  await database.query('VACUUM ANALYZE deliveries');
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

/** A day's partition, empty and not attached, in place of the one that stands there. */
async function makePartition(database: pg.Client, share: number, daysAgo: number) {
  const { rows } = await database.query<{ day: string; table: string }>(
    `SELECT day::text, 'deliveries_' || to_char(day, 'YYYYMMDD') AS table
       FROM (SELECT (now() AT TIME ZONE 'UTC')::date - $1::integer AS day) d`,
    [daysAgo],
  );
  const { day, table } = rows[0]!;
  await database.query(`DROP TABLE IF EXISTS ${table}; CREATE UNLOGGED TABLE ${table} (LIKE deliveries)`);
  return { day, table, share };
}

const nextDay = (day: string): string => new Date(Date.parse(day) + 86_400_000).toISOString().slice(0, 10);

const say = (text: string) => process.stderr.write(`\r${text.padEnd(60)}`);

// Hooks are drawn at random, as events come; the first one so often as $5 says.
const insertInto = (table: string) => `
  INSERT INTO ${table} (id, delivered_on, delivered_at, hook_id, account_id, repository_id, guid, event_key, event_on, event,
                        action, attempt, redelivery, status, status_code, error, duration_ms, timings, url, request_headers,
                        response_headers, response_body)
  SELECT $4::bigint + n, day, day + n * interval '1 ms', ($2::integer[])[hook],
         1, 1, guid, guid, day, 'push', null, 1, false,
         CASE WHEN failed THEN 'Invalid HTTP response' ELSE 'OK' END, CASE WHEN failed THEN 500 ELSE 200 END, null, 31,
         '{"dns":null,"connect":null,"tls":null,"first_byte":30,"total":31}', 'https://example.com/hook',
         '{"Accept":"*/*","Content-Type":"application/json","X-GitHub-Event":"push"}', '{"content-type":"text/plain"}', 'ok'
    FROM generate_series(1, $1::integer) n,
         LATERAL (SELECT $3::date AS day, gen_random_uuid() AS guid, n AS of,
                         CASE WHEN random() < $5::float8 THEN 1 ELSE 1 + floor(random() * cardinality($2::integer[]))::integer END AS hook OFFSET 0) d,
         LATERAL (SELECT n % 10 = 0 AND ($5 = 0 OR hook > 1) AS failed) f`;
