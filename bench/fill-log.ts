/** Fills the delivery log: a thousand repositories with five hooks each, two days of deliveries, one in ten a failure. */
import type { Client } from 'pg';

export type FilledHook = { id: number; repository: string };

const repositories = 1_000;
const hooksEach = 5;
const chunk = 500_000;

/** @returns the hooks, in no order in particular. */
export async function fillLog(database: Client, deliveries: number): Promise<{ hooks: FilledHook[] }> {
  await database.query('SET synchronous_commit = off');
  await database.query(
    `INSERT INTO repositories (account_id, name) SELECT a.id, 'repo-' || n FROM accounts a, generate_series(1, $1) n WHERE a.login = 'acme'`,
    [repositories],
  );
  const { rows } = await database.query<FilledHook>(
    `INSERT INTO hooks (account_id, repository_id, events, url, content_type, created_by)
     SELECT r.account_id, r.id, '{push,issues}', 'https://example.com/hook/' || n, 'json', 'bench'
       FROM repositories r, generate_series(1, $1) n WHERE r.name LIKE 'repo-%'
     RETURNING id, (SELECT name FROM repositories r WHERE r.id = repository_id) AS repository`,
    [hooksEach],
  );
  const ids = rows.map(({ id }) => id);
  for (let done = 0; done < deliveries; done += chunk) {
    await database.query(insert, [Math.min(chunk, deliveries - done), ids, done / deliveries]);
    process.stderr.write(`\rfilling the log: ${Math.min(done + chunk, deliveries).toLocaleString('en')}`);
  }
  process.stderr.write('\nvacuuming\n');
  await database.query('VACUUM ANALYZE deliveries');
  return { hooks: rows.toSorted(() => Math.random() - 0.5) };
}

// Ids rise with time: the first share goes to yesterday's partition, the rest to today's. Hooks are drawn at random.
const insert = `
  INSERT INTO deliveries (id, delivered_on, delivered_at, hook_id, account_id, repository_id, guid, event_key, event_on, event,
                          action, attempt, redelivery, status, status_code, error, duration_ms, timings, url, request_headers,
                          response_headers, response_body)
  SELECT nextval('delivery_ids'), day, day + time '12:00', ($2::integer[])[1 + floor(random() * cardinality($2::integer[]))::integer],
         1, 1, gen_random_uuid(), gen_random_uuid(), day, 'push', null, 1, false,
         CASE WHEN n % 10 = 0 THEN 'Invalid HTTP response' ELSE 'OK' END, CASE WHEN n % 10 = 0 THEN 500 ELSE 200 END, null, 31,
         '{"dns":null,"connect":null,"tls":null,"first_byte":30,"total":31}', 'https://example.com/hook',
         '{"Accept":"*/*","Content-Type":"application/json","X-GitHub-Event":"push"}', '{"content-type":"text/plain"}', 'ok'
    FROM generate_series(1, $1) n,
         LATERAL (SELECT (now() AT TIME ZONE 'UTC')::date - CASE WHEN $3 < 0.5 THEN 1 ELSE 0 END AS day) d`;
