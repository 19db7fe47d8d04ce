import { randomUUID } from 'node:crypto';
import { eventKey } from '@gatepost/contracts/event-identity';
import { until } from '@gatepost/testkit/until';
import type { World } from './world.ts';

const source = 'urn:test:locked';

/** An event of `login/r` that nobody can store before it is released: whoever stores one with a key that is not committed waits for that. */
export async function lockEvent({ pool }: World, login: string) {
  const id = randomUUID();
  const client = await pool.connect();
  await client.query('BEGIN');
  await client.query(
    `INSERT INTO events (key, guid, source, event_id, type, occurred_at, hook_ids, delivery_ids)
     VALUES ($1, $2, $3, 'other', 'issues', now(), '{}', '{}')`,
    [eventKey({ id, source, account: login, repository: 'r' }), id, source],
  );
  let isReleased = false;
  const release = () => {
    if (!isReleased) client.release(true);
    isReleased = true;
  };
  return {
    id,
    source,
    subject: `${login}/r`,
    async isWaitedFor() {
      await until('the event is being stored', async () => {
        const { rows } = await pool.query(
          `SELECT FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%incoming AS MATERIALIZED%'`,
        );
        return rows.length > 0;
      });
    },
    release,
    [Symbol.dispose]: release,
  };
}
