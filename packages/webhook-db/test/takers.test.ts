import { randomUUID } from 'node:crypto';
import { inTransaction } from '@gatepost/runtime/transaction';
import { freshDatabase } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { claimUnrouted, makeStoreEvents, releaseTaken, type StoredEvent } from '../src/events.ts';
import { migrateWebhooks } from '../src/migrations.ts';
import { openPool, type Pool } from '../src/pool.ts';
import { openTaker } from '../src/takers.ts';

const stack = new AsyncDisposableStack();
let databaseUrl: string;
let pool: Pool;

beforeAll(async () => {
  databaseUrl = stack.use(await freshDatabase()).url;
  await migrateWebhooks(databaseUrl);
  pool = openPool({ databaseUrl, name: 'test', max: 3, byIndexOnly: true, onError: () => {} });
  stack.defer(() => pool.end());
});
afterAll(() => stack.disposeAsync());

async function store(takenBy: number | null): Promise<StoredEvent> {
  const [key, keyBefore, guid] = [randomUUID(), randomUUID(), randomUUID()];
  const about = { source: 'test', id: '1', type: 'push', action: null, accountId: 1, repositoryId: null };
  const payload = Buffer.from('{}');
  const storeEvents = await makeStoreEvents(pool);
  const event = {
    key,
    keyBefore,
    guid,
    ...about,
    occurredAt: new Date(),
    hookIds: [7],
    payload,
    takenBy,
    unmatched: null,
    waitingJob: null,
  };
  return (await storeEvents([event]))[0]!;
}

const claims = async (event: StoredEvent, taker: { id: number; inHand?: string[] }) => {
  const { id, inHand = [] } = taker;
  const found = await inTransaction(pool, (client) => claimUnrouted(client, [event], { id, inHand: new Set(inHand) }));
  return found.has(event.key);
};

test("what a dispatcher has taken is nobody else's while it lives, and anybody's when it is gone", async () => {
  const other = await openTaker({ databaseUrl, name: 'test other' });
  await using me = await openTaker({ databaseUrl, name: 'test me' });
  const event = await store(other.id);
  expect(await claims(event, me)).toBe(false);
  await other[Symbol.asyncDispose]();
  expect(await claims(event, me)).toBe(true);
  expect(await claims(event, me)).toBe(false); // it is routed
});

test('what it has taken itself is its own again when it is not in hand any more', async () => {
  await using me = await openTaker({ databaseUrl, name: 'test me' });
  const event = await store(me.id);
  expect(await claims(event, { id: me.id, inHand: [event.key] })).toBe(false);
  expect(await claims(event, me)).toBe(true);
});

test("what it leaves is anybody's", async () => {
  await using me = await openTaker({ databaseUrl, name: 'test me' });
  const event = await store(me.id);
  await releaseTaken(pool, event);
  expect(await claims(event, { id: 1 })).toBe(true);
});

test('a connection that breaks is made again, under the same number', async () => {
  await using me = await openTaker({ databaseUrl, name: 'test broken' });
  const event = await store(me.id);
  const before = me.heldBy();
  await pool.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'test broken'");
  await until('it knows', () => me.heldBy() !== before);
  await until('it is back', () => me.heldBy() !== undefined);
  expect(me.heldBy()).not.toBe(before); // others may have gone on with what it had taken by then
  expect(await claims(event, { id: 1 })).toBe(false);
});
