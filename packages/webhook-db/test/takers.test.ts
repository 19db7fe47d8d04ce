import { randomUUID } from 'node:crypto';
import { inTransaction } from '@gatepost/runtime/transaction';
import { freshDatabase } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { recordDeliveries } from '../src/deliveries.ts';
import { makeStoreEvents, type NewEvent, type StoredEvent } from '../src/events.ts';
import { migrateWebhooks } from '../src/migrations.ts';
import { parkAgain } from '../src/parked.ts';
import { openPool, type Pool } from '../src/pool.ts';
import { claimUnrouted, releaseTaken, setRouted, type TakenEvent } from '../src/routed-events.ts';
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

function newEvent(takenBy: number | null): NewEvent {
  const [key, before, guid] = [randomUUID(), randomUUID(), randomUUID()];
  const about = { source: 'test', id: '1', type: 'push', action: null, accountId: 1, repositoryId: null };
  const payload = Buffer.from('{"a":1}');
  const none = { unmatched: null, waitingJob: null };
  return {
    key,
    keyBefore: () => before,
    guid,
    ...about,
    occurredAt: new Date(),
    hookIds: [7],
    payload,
    takenBy,
    ...none,
  };
}

async function store(takenBy: number | null): Promise<StoredEvent> {
  const storeEvents = await makeStoreEvents(pool);
  return (await storeEvents([newEvent(takenBy)]))[0]!;
}

const claims = async (event: StoredEvent, taker: { id: number; inHand?: string[] }) => {
  const { id, inHand = [] } = taker;
  const found = await inTransaction(pool, (client) => claimUnrouted(client, [event], { id, inHand: new Set(inHand) }));
  return found.has(event.key);
};

// PostgreSQL counts from when it answered, which we hear later.
test('a dispatcher that hears late that it is seen alive counts from when it asked', async () => {
  let clock = 0;
  const opening = openTaker({ databaseUrl, name: 'test late', now: () => clock });
  clock = 13_000;
  await using late = await opening;
  expect(late.lockedBy()).toBeUndefined();
  clock = 11_000;
  expect(late.lockedBy()).toBeDefined();
});

test('an event that a dispatcher has taken cannot be claimed by another while it lives, and can be when it is gone', async () => {
  const other = await openTaker({ databaseUrl, name: 'test other' });
  await using me = await openTaker({ databaseUrl, name: 'test me' });
  const event = await store(other.id);
  expect(await claims(event, me)).toBe(false);
  await other[Symbol.asyncDispose]();
  expect(await claims(event, me)).toBe(true);
  expect(await claims(event, me)).toBe(false); // it is routed
});

test('a dispatcher can claim an event again that it took and no longer has in hand', async () => {
  await using me = await openTaker({ databaseUrl, name: 'test me' });
  const event = await store(me.id);
  expect(await claims(event, { id: me.id, inHand: [event.key] })).toBe(false);
  expect(await claims(event, me)).toBe(true);
});

test('an event that a dispatcher releases can be claimed by any other', async () => {
  await using me = await openTaker({ databaseUrl, name: 'test me' });
  const event = await store(me.id);
  await releaseTaken(pool, event);
  expect(await claims(event, { id: 1 })).toBe(true);
});

test('a dispatcher whose connection broke gets a new one with the same number', async () => {
  let lost = 0;
  const onLost = () => {
    lost += 1;
  };
  await using me = await openTaker({ databaseUrl, name: 'test broken', onLost });
  const event = await store(me.id);
  const before = me.lockedBy();
  await pool.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'test broken'");
  await until('it knows', () => me.lockedBy() !== before);
  await until('it is back', () => me.lockedBy() !== undefined);
  expect(lost).toBe(1);
  expect(me.lockedBy()).not.toBe(before); // others may have gone on with what it had taken by then
  expect(await claims(event, { id: 1 })).toBe(false);
});

// It would begin what others have taken over by then, until it hears that its connection is closed.
test('a dispatcher that stood still holds nothing until PostgreSQL has confirmed its connection', async () => {
  let passedMs = 0;
  await using me = await openTaker({ databaseUrl, name: 'test frozen', now: () => performance.now() + passedMs });
  const before = me.lockedBy();
  passedMs = 14_000;
  expect(me.lockedBy()).toBeUndefined();
  await until('it holds it again', () => me.lockedBy() !== undefined);
  expect(me.lockedBy()).toBe(before);
});

test('a batch is stored without waiting for the disk only if all its events are taken, and so have their messages', async () => {
  await pool.query(`
    CREATE TABLE commits (key uuid, synchronous text);
    CREATE FUNCTION note_commit() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN INSERT INTO commits VALUES (NEW.key, current_setting('synchronous_commit')); RETURN NEW; END $$;
    CREATE TRIGGER note_commit BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION note_commit()`);
  // A value that nobody else sets: what the server is told otherwise stays as it is.
  await pool.query(`ALTER DATABASE ${new URL(databaseUrl).pathname.slice(1)} SET synchronous_commit = 'local'`);
  const own = openPool({ databaseUrl, name: 'test', max: 1, byIndexOnly: true, onError: () => {} });
  stack.defer(() => own.end());
  const storeEvents = await makeStoreEvents(own);
  const how = async (...takenBy: (number | null)[]) => {
    const events = takenBy.map(newEvent);
    await storeEvents(events);
    const { rows } = await pool.query('SELECT DISTINCT synchronous FROM commits WHERE key = ANY ($1)', [
      events.map(({ key }) => key),
    ]);
    return rows;
  };
  expect(await how(1, 2)).toEqual([{ synchronous: 'off' }]);
  expect(await how(1, null)).toEqual([{ synchronous: 'local' }]);
  expect(await how(null)).toEqual([{ synchronous: 'local' }]);
});

const next = ({ event, receivedOn, deliveryId }: TakenEvent) => ({
  delivery_id: deliveryId,
  account_id: 1,
  reason: 'retry' as const,
  due_at: new Date(),
  published_at: null,
  event_key: event.key,
  event_on: receivedOn,
  job: '{}',
});
const ends: [how: string, end: (taken: TakenEvent) => Promise<void>][] = [
  ['an outcome', (taken) => recordDeliveries(pool, [], { parked: [], routed: [taken], next: [] })],
  ['a retry that follows', (taken) => recordDeliveries(pool, [], { parked: [], routed: [taken], next: [next(taken)] })],
  ['parking', (taken) => parkAgain(pool, [next(taken)], [taken])],
  ['nothing more to do', (taken) => setRouted(pool, [taken])],
];

test.each(ends)('a taken event that PostgreSQL lost in a crash is stored again with %s', async (_how, end) => {
  const event = newEvent(1);
  const [stored] = await (await makeStoreEvents(pool))([event]);
  const sequence = stored!.sequences![0]!;
  const taken = { event, receivedOn: stored!.receivedOn, deliveryId: stored!.deliveryIds[0]!, sequence };
  const look = async () => {
    const { rows } = await pool.query(
      `SELECT guid, payload, hook_ids, delivery_ids::int[], sequences::int[], routed_at IS NOT NULL AS routed,
              (SELECT last::int FROM hook_sequences WHERE hook_id = 7) AS last FROM events WHERE key = $1`,
      [event.key],
    );
    return rows;
  };
  await end(taken);
  const kept = await look();
  expect(kept).toEqual([
    {
      guid: event.guid,
      payload: event.payload,
      hook_ids: [7],
      delivery_ids: stored!.deliveryIds,
      sequences: [sequence],
      routed: true,
      last: sequence,
    },
  ]);
  await pool.query('DELETE FROM events WHERE key = $1', [event.key]);
  await pool.query('UPDATE hook_sequences SET last = last - 1');
  await end(taken);
  const [{ delivery_ids: ids, ...rest }] = await look();
  expect({ ...rest, delivery_ids: taken.deliveryId < ids[0] }).toEqual({ ...kept[0], delivery_ids: true });
  await end(taken); // its answer did not come
  expect(await look()).toEqual([{ ...rest, delivery_ids: ids }]);
});

const outcome = ({ event, receivedOn, deliveryId }: TakenEvent, statusCode: number) => ({
  id: deliveryId,
  delivered_at: new Date(),
  hook_id: 7,
  account_id: 1,
  guid: event.guid,
  event_key: event.key,
  event_on: receivedOn,
  event: 'push',
  attempt: 1,
  redelivery: false,
  status: 'OK',
  status_code: statusCode,
  duration_ms: 1,
  timings: {},
  url: 'http://127.0.0.1/',
  request_headers: {},
});

// A row's key has its day.
test('a delivery that was attempted twice, before and after midnight, is tried again once, and the log has both attempts', async () => {
  const stored = await store(null);
  const taken = {
    event: { ...newEvent(null), key: stored.key, guid: stored.guid },
    receivedOn: stored.receivedOn,
    deliveryId: stored.deliveryIds[0]!,
    sequence: null,
  };
  const midnight = new Date().setUTCHours(0, 0, 0, 0);
  const attempted = async (deliveredAt: number) =>
    recordDeliveries(pool, [{ ...outcome(taken, 500), delivered_at: new Date(deliveredAt) }], {
      parked: [],
      routed: [],
      next: [next(taken)],
    });
  await attempted(midnight - 100);
  await attempted(midnight + 100);
  const { rows } = await pool.query(
    `SELECT (SELECT count(*)::int FROM deliveries WHERE event_key = $1) AS attempts,
            (SELECT count(*)::int FROM parked WHERE event_key = $1) AS retries`,
    [stored.key],
  );
  expect(rows).toEqual([{ attempts: 2, retries: 1 }]);
});

// Its sequence goes back, too: what it hands out next is what a delivery in flight has got from it.
test('two deliveries that got the same id because PostgreSQL crashed in between are both recorded', async () => {
  const storeEvents = await makeStoreEvents(pool);
  const take = async (): Promise<TakenEvent> => {
    const event = newEvent(1);
    const [stored] = await storeEvents([event]);
    const [deliveryId, sequence] = [stored!.deliveryIds[0]!, stored!.sequences![0]!];
    return { event, receivedOn: stored!.receivedOn, deliveryId, sequence };
  };
  /** Stored, lost, and then another with the same id. */
  const takeTwice = async () => {
    const lost = await take();
    await pool.query('DELETE FROM events WHERE key = $1', [lost.event.key]);
    const other = { ...(await take()), deliveryId: lost.deliveryId };
    await pool.query('UPDATE events SET delivery_ids = ARRAY[$2::bigint] WHERE key = $1', [
      other.event.key,
      other.deliveryId,
    ]);
    return [lost, other] as const;
  };
  const recorded = async (taken: readonly TakenEvent[]) => {
    const { rows } = await pool.query(
      `SELECT e.key, d.status_code, (SELECT count(*)::int FROM parked p WHERE p.event_key = e.key) AS parked
         FROM events e LEFT JOIN deliveries d ON d.event_key = e.key AND d.id = ANY (e.delivery_ids) WHERE e.key = ANY ($1)`,
      [taken.map(({ event }) => event.key)],
    );
    return taken.map(({ event }) => rows.filter(({ key }) => key === event.key).map(({ key: _, ...row }) => row));
  };

  const together = await takeTwice();
  const both = () =>
    recordDeliveries(
      pool,
      together.map((one, index) => outcome(one, 500 + index)),
      { parked: [], routed: together, next: together.map(next) },
    );
  await both();
  await both(); // its answer did not come
  expect(await recorded(together)).toEqual([[{ status_code: 500, parked: 1 }], [{ status_code: 501, parked: 1 }]]);

  for (const order of ['as they came', 'the other way'] as const) {
    const apart = await takeTwice();
    for (const one of order === 'as they came' ? apart : apart.toReversed())
      await recordDeliveries(pool, [outcome(one, 200)], { parked: [], routed: [one], next: [] });
    expect(await recorded(apart)).toEqual([[{ status_code: 200, parked: 0 }], [{ status_code: 200, parked: 0 }]]);
  }

  const parked = await takeTwice();
  await parkAgain(pool, parked.slice(1).map(next), parked.slice(1));
  await parkAgain(pool, parked.slice(0, 1).map(next), parked.slice(0, 1));
  expect(await recorded(parked)).toEqual([[{ status_code: null, parked: 1 }], [{ status_code: null, parked: 1 }]]);
});
