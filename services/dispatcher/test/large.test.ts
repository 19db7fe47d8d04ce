/** Large events are routed apart, so that small ones do not wait for them. */
import { randomUUID } from 'node:crypto';
import { eventKey } from '@gatepost/contracts/event';
import { openReceiver, type Receiver } from '@gatepost/testkit/receiver';
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openWorld, type World } from './world.ts';

let world: World;
let receiver: Receiver;

beforeAll(async () => {
  world = await openWorld();
  receiver = await openReceiver();
  for (const login of ['large', 'small']) {
    await world.addAccount(login, ['r']);
    await world.addHook(login, { url: receiver.url });
  }
  await world.start();
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await receiver?.[Symbol.asyncDispose]();
});

const large = { padding: 'x'.repeat(3_000_000) };

test('a small event does not wait while a large one of another account is stored, and one of its own account does not overtake it', async () => {
  const [id, source] = [randomUUID(), 'urn:test:large'];
  const key = eventKey({ id, source, account: 'large', repository: 'r' });
  const client = await world.pool.connect();
  let behind: string;
  try {
    // Whoever stores an event with the key of one that is not committed waits for that.
    await client.query('BEGIN');
    await client.query(
      `INSERT INTO events (key, guid, source, event_id, type, occurred_at, hook_ids, delivery_ids)
       VALUES ($1, $2, $3, 'other', 'issues', now(), '{}', '{}')`,
      [key, id, source],
    );
    await world.publish({ id, source, subject: 'large/r', payload: large });
    await until('the large event is being stored', async () => {
      const { rows } = await world.pool.query(
        `SELECT FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%INSERT INTO events%'`,
      );
      return rows.length > 0;
    });
    behind = await world.publish({ subject: 'large/r' });
    await world.deliveries(await world.publish({ subject: 'small/r' }));
    await client.query('ROLLBACK');
  } finally {
    client.release(true);
  }
  const [first] = await world.deliveries(id);
  const [second] = await world.deliveries(behind);
  expect(Number(second!.id)).toBeGreaterThan(Number(first!.id));
});
