/** Gives each delivery of a filled log (fill-log.ts) its event, and makes more deliveries wait for their account's limit. */
import pg from 'pg';

/** Each day's events are written to a separate table without indexes, which is attached when complete. */
export async function fillEvents(databaseUrl: string): Promise<void> {
  await inDatabase(databaseUrl, async (database) => {
    const { rows: days } = await database.query<{ day: string; table: string }>(
      "SELECT delivered_on::text AS day, 'events_' || to_char(delivered_on, 'YYYYMMDD') AS table FROM deliveries GROUP BY 1, delivered_on ORDER BY 1",
    );
    for (const { day, table } of days) {
      process.stderr.write(`\r${`events of ${day}`.padEnd(60)}`);
      await database.query(`DROP TABLE IF EXISTS ${table}; CREATE UNLOGGED TABLE ${table} (LIKE events)`);
      await database.query(
        `INSERT INTO ${table} (key, received_on, received_at, guid, source, event_id, type, account_id, repository_id, occurred_at, hook_ids, delivery_ids, routed_at, taken_by)
         SELECT event_key, event_on, delivered_at, guid, 'urn:bench', guid::text, event, h.account_id, h.repository_id, delivered_at, ARRAY[hook_id], ARRAY[d.id], delivered_at, 1
           FROM deliveries d JOIN hooks h ON h.id = d.hook_id WHERE delivered_on = $1`,
        [day],
      );
      await database.query(
        `ALTER TABLE events ATTACH PARTITION ${table} FOR VALUES FROM ('${day}') TO (date '${day}' + 1)`,
      );
    }
    await database.query('VACUUM ANALYZE events');
    await database.query('CHECKPOINT');
    process.stderr.write('\n');
  });
}

/** Parks first deliveries of new events for one hook, in order. */
export async function fillWaiting(databaseUrl: string, hookId: number, count: number): Promise<void> {
  await inDatabase(databaseUrl, async (database) => {
    await database.query(
      `WITH e AS (
         INSERT INTO events (key, guid, source, event_id, type, account_id, repository_id, occurred_at, hook_ids, delivery_ids, routed_at)
         SELECT gen_random_uuid(), gen_random_uuid(), 'urn:bench', n::text, 'push', h.account_id, h.repository_id, now(), ARRAY[h.id], ARRAY[nextval('delivery_ids')], now()
           FROM hooks h, generate_series(1, $2) n WHERE h.id = $1
         RETURNING key, guid, received_on, account_id, hook_ids[1] AS hook_id, delivery_ids[1] AS id)
       INSERT INTO parked (delivery_id, account_id, reason, due_at, event_key, event_on, job)
       SELECT id, account_id, 'throttle', 'infinity', key, received_on,
              format('{"deliveryId":%s,"hookId":%s,"guid":"%s","event":"push","action":null,"attempt":1,"redelivery":false,"throttledAt":"%s"}',
                     id, hook_id, guid, to_char(now(), 'YYYY-MM-DD"T"HH24:MI:SSZ'))
         FROM e`,
      [hookId, count],
    );
    await database.query('VACUUM ANALYZE parked');
  });
}

async function inDatabase(databaseUrl: string, work: (database: pg.Client) => Promise<void>): Promise<void> {
  const options = '-c search_path=webhooks -c synchronous_commit=off -c maintenance_work_mem=1GB';
  const database = new pg.Client({ connectionString: databaseUrl, options });
  await database.connect();
  try {
    await work(database);
  } finally {
    await database.end();
  }
}
