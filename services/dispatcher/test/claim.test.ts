/** What it costs to claim events, told by the rows that PostgreSQL reads. */
import { randomUUID } from 'node:crypto';
import { inTransaction } from '@gatepost/runtime/transaction';
import { freshDatabase } from '@gatepost/testkit/stores';
import { migrateWebhooks } from '@gatepost/webhook-db/migrations';
import { openPool } from '@gatepost/webhook-db/pool';
import { claimUnrouted } from '@gatepost/webhook-db/routed-events';
import { expect, test } from '@jest/globals';
import type { PoolClient } from 'pg';
import { ensurePartitions } from '../src/partitions.ts';

test('claiming many events at once reads no others', async () => {
  await using database = await freshDatabase();
  await migrateWebhooks(database.url);
  const pool = openPool({ databaseUrl: database.url, name: 'test', max: 1, byIndexOnly: true, onError: () => {} });
  try {
    await ensurePartitions(pool);
    const insert = (count: number, routedAt: string) =>
      pool.query<{ key: string; receivedOn: string }>(
        `INSERT INTO events (key, guid, source, event_id, type, occurred_at, hook_ids, delivery_ids, routed_at)
         SELECT gen_random_uuid(), gen_random_uuid(), 'urn:test', n, 'push', now(), '{1}', ARRAY[n], ${routedAt} FROM generate_series(1, $1) AS n
         RETURNING key, received_on::text AS "receivedOn"`,
        [count],
      );
    await insert(2_000, 'now()');
    const { rows: events } = await insert(500, 'NULL');
    const [claimed, read] = await inTransaction(pool, async (client) => {
      const before = await rowsRead(client);
      const claimed = await claimUnrouted(
        client,
        [...events, { key: randomUUID(), receivedOn: events[0]!.receivedOn }],
        { id: 1, inHand: new Set() },
      );
      return [claimed, (await rowsRead(client)) - before];
    });
    expect([...claimed].sort()).toEqual(events.map(({ key }) => key).sort());
    expect(read).toBeLessThan(3 * events.length);
  } finally {
    await pool.end();
  }
});

/** Rows of events that this connection has read, as far as it has not reported them yet, which it does not do in a transaction. */
async function rowsRead(client: PoolClient): Promise<number> {
  const { rows } = await client.query<{ read: number }>(
    `SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int AS read
       FROM pg_stat_xact_user_tables WHERE relname LIKE 'events%'`,
  );
  return rows[0]!.read;
}
