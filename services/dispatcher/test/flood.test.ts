/** One account floods while others send: who waits, and that nothing is lost when a dispatcher dies meanwhile. */
import { readFileSync } from 'node:fs';
import { openConsumer } from '@gatepost/amqp/consumer';
import { eventsQueue, topology } from '@gatepost/contracts/topology';
import { openLog } from '@gatepost/runtime/log';
import { openReceiver, type Receiver } from '@gatepost/testkit/receiver';
import { until } from '@gatepost/testkit/until';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { lockEvent } from './lock-event.ts';
import { type Dispatcher, openWorld, startsIn, type World } from './world.ts';

const floodEvents = 5_000;
/**
 * A flood that the dispatcher takes all at once. Of these, more than 200 come within a second even where a busy machine stops once while it
 * gets them.
 */
const someEvents = 390;
let world: World;
let receiver: Receiver;

beforeAll(async () => {
  world = await openWorld();
  receiver = await openReceiver();
  await world.addAccount('flood', ['r']);
  await world.addAccount('calm', ['r']);
  await world.addHook('calm', { url: receiver.url });
});
// One that a failed test has left behind would take what the next one publishes.
const { start, killAll } = startsIn(() => world);
afterEach(killAll);
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await receiver?.[Symbol.asyncDispose]();
});

const publishMany = (login: string, count: number, headers: Record<string, unknown> = {}) =>
  Promise.all(Array.from({ length: count }, () => world.publish({ subject: `${login}/r`, headers })));
/** The dispatcher finds in its queue all that was published meanwhile, and gets it at once: a slow publisher would not be a flood. */
const whileStopped = async <T>({ pid }: Dispatcher, work: () => Promise<T>): Promise<T> => {
  process.kill(pid, 'SIGSTOP');
  try {
    return await work();
  } finally {
    process.kill(pid, 'SIGCONT');
  }
};
const stored = async () => {
  const { rows } = await world.pool.query<{ n: number }>(
    "SELECT count(*)::int AS n FROM events e JOIN accounts a ON a.id = e.account_id WHERE a.login = 'flood'",
  );
  return rows[0]!.n;
};
const held = /^dispatcher_events_held/;

/** Much of the flood was routed after these. */
const wereAhead = async (guids: string[]) => {
  const { rows } = await world.pool.query(
    `SELECT count(*)::int AS after FROM events
      WHERE guid <> ALL ($1) AND routed_at > (SELECT max(routed_at) FROM events WHERE guid = ANY ($1))`,
    [guids],
  );
  expect(rows[0].after).toBeGreaterThan(floodEvents / 10);
};

test('while one account floods, the events of a quiet account are routed first, and none is lost', async () => {
  const dispatcher = await start();
  await world.deliveries(await world.publish({ subject: 'calm/r' })); // somebody else is there
  const guids = await whileStopped(dispatcher, async () => {
    await publishMany('flood', floodEvents);
    return publishMany('calm', 20);
  });
  await Promise.all(guids.map((guid) => world.deliveries(guid)));
  await until('the flood is routed too', async () => (await stored()) === floodEvents);
  await wereAhead(guids); // which came last
  expect(await dispatcher.metric(held)).toBe(0);
  expect(await dispatcher.stop()).toBe(0);
  expect(receiver.received.length).toBe(21);
});

// Whatever had been in somebody's hands used to be taken for a part of the flood.
test('a quiet account’s events go first even if another dispatcher had the whole flood in hand and died', async () => {
  const before = await stored();
  const dispatcher = await start();
  await world.deliveries(await world.publish({ subject: 'calm/r' }));
  const guids = await whileStopped(dispatcher, async () => {
    const calm = await publishMany('flood', floodEvents).then(() => publishMany('calm', 20));
    const taken: unknown[] = [];
    const log = openLog('test', 'silent');
    const options = { url: world.amqpUrl, name: 'test', log, topology, queue: eventsQueue, prefetch: 60_000 };
    await using _dying = await openConsumer({ ...options, onMessage: ({ messageId }) => taken.push(messageId) });
    // The dispatcher has as many in hand as it takes at once, and they are the first; the last are those of the other account.
    await until('it has all the others in hand', () => calm.every((guid) => taken.includes(guid)));
    return calm;
  });
  await Promise.all(guids.map((guid) => world.deliveries(guid)));
  await until('the flood is routed too', async () => (await stored()) === before + floodEvents);
  await wereAhead(guids);
  expect(await dispatcher.stop()).toBe(0);
});

test('a quiet account’s event does not wait while a batch of the flood is being stored', async () => {
  const before = await stored();
  const dispatcher = await start();
  using lock = await lockEvent(world, 'flood');
  const { id, source, subject } = lock;
  await world.publish({ id, source, subject });
  await lock.isWaitedFor();
  const quiet = await whileStopped(dispatcher, async () => {
    await publishMany('flood', someEvents);
    return world.publish({ subject: 'calm/r' });
  });
  await world.deliveries(quiet);
  expect(await stored()).toBe(before);
  lock.release();
  await until('the flood is routed too', async () => (await stored()) === before + 1 + someEvents);
  expect(await dispatcher.stop()).toBe(0);
});

// It used to wait for its turn behind all of the flood, and with it whatever came later of its account.
test('a quiet account’s event goes first even if its earlier events were stored in one batch with the flood’s first event', async () => {
  const before = await stored();
  const dispatcher = await start();
  using first = await lockEvent(world, 'flood');
  using second = await lockEvent(world, 'flood');
  const guids = await whileStopped(dispatcher, async () => {
    const some = await publishMany('calm', 5);
    await world.publish({ id: first.id, source: first.source, subject: first.subject });
    return [...some, ...(await publishMany('calm', 5))];
  });
  await first.isWaitedFor();
  const later = await whileStopped(dispatcher, async () => {
    await world.publish({ id: second.id, source: second.source, subject: second.subject });
    await publishMany('flood', someEvents);
    return world.publish({ subject: 'calm/r' });
  });
  first.release();
  await Promise.all([...guids, later].map((guid) => world.deliveries(guid)));
  expect(await stored()).toBeLessThan(before + 2 + someEvents);
  second.release();
  await until('the flood is routed too', async () => (await stored()) === before + 2 + someEvents);
  expect(await dispatcher.stop()).toBe(0);
});

// A batch that PostgreSQL refuses for a while is tried again until it does not; what came later of an account in it used to be stored meanwhile.
test('a quiet account’s event never overtakes its own earlier event, even while that event’s batch is being retried', async () => {
  const before = await stored();
  for (const login of ['large', 'small']) await world.addAccount(login, ['r']);
  await world.pool.query(`
    CREATE TABLE refused AS SELECT 'stuck' AS event_id;
    CREATE SEQUENCE refusals;
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF EXISTS (SELECT FROM webhooks.refused WHERE event_id = NEW.event_id) THEN
        PERFORM nextval('webhooks.refusals');
        RAISE EXCEPTION 'not now' USING ERRCODE = 'lock_not_available';
      END IF;
      RETURN NEW;
    END $$;
    CREATE TRIGGER refuse BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION refuse()`);
  const dispatcher = await start();
  const isStored = (guid: string) =>
    until('it is stored', async () => (await world.pool.query('SELECT FROM events WHERE guid = $1', [guid])).rowCount);
  const guids = await whileStopped(dispatcher, async () => {
    await world.publish({ id: 'stuck', subject: 'flood/r' });
    return [await world.publish({ subject: 'calm/r' })];
  });
  await until('the batch is refused', async () => {
    const { rows } = await world.pool.query<{ is_called: boolean }>('SELECT is_called FROM refusals');
    return rows[0]!.is_called;
  });
  const later = await whileStopped(dispatcher, async () => {
    const early = await world.publish({ subject: 'calm/r' });
    await publishMany('flood', someEvents);
    return [early, await world.publish({ subject: 'calm/r' })];
  });
  guids.push(...later);
  await isStored(
    await world.publish({ subject: 'large/r', payload: Buffer.alloc(2 * 1024 * 1024, ' ').fill('{}', 0, 2) }),
  );
  await isStored(await world.publish({ subject: 'small/r' }));
  await world.pool.query('TRUNCATE refused');
  await Promise.all(guids.map((guid) => world.deliveries(guid)));
  const { rows } = await world.pool.query('SELECT guid FROM events WHERE guid = ANY ($1) ORDER BY sequences[1]', [
    guids,
  ]);
  expect(rows.map(({ guid }) => guid)).toEqual(guids);
  await until('the flood is routed too', async () => (await stored()) === before + 1 + someEvents);
  await world.pool.query('DROP TRIGGER refuse ON events');
  expect(await dispatcher.stop()).toBe(0);
});

// Each shard had an eighth of what tells that others wait.
test('a quiet account’s events go first where it shares one of several shards with the flood', async () => {
  const before = await stored();
  const dispatcher = await start({ EVENT_SHARDS: '8' });
  const shard = { 'cloudEvents:partitionkey': 'of both' };
  await world.deliveries(await world.publish({ subject: 'calm/r', headers: shard }));
  const guids = await whileStopped(dispatcher, async () => {
    await publishMany('flood', floodEvents, shard);
    return publishMany('calm', 20, shard);
  });
  await Promise.all(guids.map((guid) => world.deliveries(guid)));
  await until('the flood is routed too', async () => (await stored()) === before + floodEvents);
  await wereAhead(guids);
  expect(await dispatcher.stop()).toBe(0);
});

test('events of a flood held by a dispatcher that is killed or stopped are routed by another one', async () => {
  const before = await stored();
  const first = await start();
  await world.deliveries(await world.publish({ subject: 'calm/r' }));
  await whileStopped(first, () => publishMany('flood', floodEvents));
  await until('events are held', async () => ((await first.metric(held)) ?? 0) > 0);
  await first.stop('SIGKILL');
  const second = await start();
  await world.deliveries(await world.publish({ subject: 'calm/r' }));
  expect(await second.stop()).toBe(0);
  const third = await start();
  await until('all are routed', async () => (await stored()) === before + floodEvents);
  expect(await third.stop()).toBe(0);
});

// As many were taken into memory as of small ones.
test('large events behind the small events of a flood are held in memory only a few at a time', async () => {
  const before = await stored();
  const dispatcher = await start();
  await world.deliveries(await world.publish({ subject: 'calm/r' }));
  const payload = Buffer.from(JSON.stringify({ padding: 'x'.repeat(8_000_000) }));
  await whileStopped(dispatcher, async () => {
    await publishMany('flood', 1_000);
    for (let count = 0; count < 40; count += 1) await world.publish({ subject: 'flood/r', payload });
  });
  await until('all are routed', async () => (await stored()) === before + 1_040, 240_000);
  const peakMb = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${dispatcher.pid}/status`, 'utf8'))?.[1]) / 1024;
  expect(peakMb).toBeLessThan(480); // without a bound it is over 510; on a busy machine garbage is collected late
  await world.deliveries(await world.publish({ subject: 'calm/r' }));
  expect(await dispatcher.stop()).toBe(0);
});
