import { randomUUID } from 'node:crypto';
import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import { openLog } from '@gatepost/runtime/log';
import { troubleOf } from '@gatepost/runtime/store-errors';
import { freshDatabase } from '@gatepost/testkit/stores';
import { makeStoreEvents, type NewEvent } from '@gatepost/webhook-db/events';
import { migrateWebhooks } from '@gatepost/webhook-db/migrations';
import { openPool } from '@gatepost/webhook-db/pool';
import { expect, test } from '@jest/globals';
import { ensurePartitions } from '../src/partitions.ts';
import { handOver } from '../src/routing/hand-over.ts';
import { makePersist } from '../src/settling/persist.ts';

async function open(stack: AsyncDisposableStack) {
  const database = stack.use(await freshDatabase());
  await migrateWebhooks(database.url);
  const pool = openPool({ databaseUrl: database.url, name: 'test', max: 2, byIndexOnly: true, onError: () => {} });
  stack.defer(() => pool.end());
  await ensurePartitions(pool);
  const newEvent = (more: Pick<NewEvent, 'hookIds'> & Partial<NewEvent>): NewEvent => ({
    key: randomUUID(),
    keyBefore: () => randomUUID(),
    guid: randomUUID(),
    source: 'test',
    id: '1',
    type: 'push',
    action: null,
    accountId: 1,
    repositoryId: null,
    occurredAt: new Date(),
    unmatched: null,
    payload: Buffer.from('{}'),
    waitingJob: null,
    takenBy: null,
    ...more,
  });
  return { pool, newEvent };
}

test('deliveries that wait for a limit are parked when their event is stored, once for each hook', async () => {
  await using stack = new AsyncDisposableStack();
  const { pool, newEvent } = await open(stack);
  const storeEvents = await makeStoreEvents(pool);
  const event = newEvent({ hookIds: [7, 8], waitingJob: '{"guid":"x","attempt":1}' });
  const [first, second] = await storeEvents([event, event, newEvent({ hookIds: [7] })]);
  expect(first).toMatchObject({ isNew: true, isRouted: true });
  expect(second).toEqual(first);
  const [again] = await storeEvents([event]);
  expect(again).toEqual({ ...first, isNew: false });
  const { key, receivedOn, deliveryIds } = first!;
  const { rows } = await pool.query('SELECT *, event_on::text AS event_on FROM parked ORDER BY delivery_id');
  expect(rows).toEqual(
    deliveryIds.map((deliveryId, index) => ({
      delivery_id: String(deliveryId),
      parked_at: expect.any(Date),
      account_id: 1,
      reason: 'throttle',
      due_at: Number.POSITIVE_INFINITY,
      published_at: null,
      replay_id: null,
      event_key: key,
      event_on: receivedOn,
      job: JSON.stringify({
        deliveryId,
        hookId: [7, 8][index],
        sequence: 1,
        eventOn: receivedOn,
        guid: 'x',
        attempt: 1,
      }),
    })),
  );
});

test('events of a remembered account are stored only if it has not changed, and nothing of it waits', async () => {
  await using stack = new AsyncDisposableStack();
  const { pool, newEvent } = await open(stack);
  const storeEvents = await makeStoreEvents(pool);
  const { rows } = await pool.query<{ id: number }>("INSERT INTO accounts (login) VALUES ('Acme') RETURNING id");
  const accountId = rows[0]!.id;
  const versions = () => pool.query('SELECT version FROM account_versions WHERE account_id = $1', [accountId]);
  const now = async () => ({ login: 'acme', accountId, version: Number((await versions()).rows[0].version) });
  const store = async (account: Awaited<ReturnType<typeof now>>, more: Partial<NewEvent> = {}) =>
    storeEvents.remembered([newEvent({ accountId, hookIds: [7], ...more })], [account]);
  const stored = async () => (await pool.query('SELECT FROM events')).rowCount;

  const before = await now();
  expect(await store(before)).toMatchObject([{ isNew: true }]);
  expect(await store({ ...before, login: 'other' })).toBeUndefined();
  await pool.query(
    "INSERT INTO hooks (account_id, events, url, content_type, insecure_ssl, created_by) VALUES ($1, '{push}', 'http://a.test/', 'json', false, 'x')",
    [accountId],
  );
  expect(await store(before)).toBeUndefined();
  expect(await stored()).toBe(1);
  const after = await now();
  expect(await store(after, { waitingJob: '{}' })).toMatchObject([{ isNew: true, isRouted: true }]);
  expect(await store(after)).toBeUndefined(); // that one waits
  expect(await stored()).toBe(2);
  await pool.query('DELETE FROM parked');
  expect(await store(after)).toMatchObject([{ isNew: true }]);
  await pool.query('DELETE FROM accounts WHERE id = $1', [accountId]);
  expect(await store(after)).toBeUndefined();
});

test('no delivery is lost if the limit cannot be asked at first', async () => {
  await using stack = new AsyncDisposableStack();
  const { pool, newEvent } = await open(stack);
  const storeEvents = await makeStoreEvents(pool);
  const event = newEvent({ hookIds: [7] });
  const { key, guid, payload } = event;
  const stored = await storeEvents([event]);
  const job = { eventKey: key, deliveryId: stored[0]!.deliveryIds[0], guid, hookId: 7 } as DeliveryJob;
  const account = { id: 1 } as Parameters<typeof handOver>[2][number]['account'];

  let asked = 0;
  const published: DeliveryJob[] = [];
  const persist = makePersist({
    log: openLog('test', 'silent'),
    giveUp: new AbortController().signal,
    troubleOf,
    pause: (async () => {}) as never,
  });
  const mine = await handOver(
    {
      pool,
      persist,
      async admit(_account, _hasBacklog, jobs) {
        asked += 1;
        if (asked === 1) throw Object.assign(new Error('away'), { code: 'ECONNRESET' });
        return { now: jobs, later: [] };
      },
      taker: { id: 1 },
      taken: { keys: new Set() },
      enqueue: async (jobs) => void published.push(...jobs.map((one) => one.job)),
    },
    stored,
    [{ job, payload: payload!, account, hasBacklog: false }],
  );
  expect([...mine]).toEqual([key]);
  expect(published).toEqual([job]);
});
