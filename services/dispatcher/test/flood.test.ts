/** One account floods while others send: who waits, and that nothing is lost when a dispatcher dies meanwhile. */
import { openReceiver, type Receiver } from '@gatepost/testkit/receiver';
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openWorld, type World } from './world.ts';

const floodEvents = 5_000;
let world: World;
let receiver: Receiver;

beforeAll(async () => {
  world = await openWorld();
  receiver = await openReceiver();
  await world.addAccount('flood', ['r']);
  await world.addAccount('calm', ['r']);
  await world.addHook('calm', { url: receiver.url });
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await receiver?.[Symbol.asyncDispose]();
});

const flood = () => Promise.all(Array.from({ length: floodEvents }, () => world.publish({ subject: 'flood/r' })));
const stored = async () => {
  const { rows } = await world.pool.query<{ n: number }>(
    "SELECT count(*)::int AS n FROM events e JOIN accounts a ON a.id = e.account_id WHERE a.login = 'flood'",
  );
  return rows[0]!.n;
};
const held = /^dispatcher_events_held/;

test('beside an account that floods, the events of another are routed first, and none is lost', async () => {
  const dispatcher = await world.start();
  await world.deliveries(await world.publish({ subject: 'calm/r' })); // somebody else is there
  await flood();
  await until('events are held', async () => ((await dispatcher.metric(held)) ?? 0) > 0);
  const guids = await Promise.all(Array.from({ length: 20 }, () => world.publish({ subject: 'calm/r' })));
  await Promise.all(guids.map((guid) => world.deliveries(guid)));
  expect(await stored()).toBeLessThan(floodEvents);
  await until('the flood is routed too', async () => (await stored()) === floodEvents);
  expect(await dispatcher.metric(held)).toBe(0);
  expect(await dispatcher.stop()).toBe(0);
  expect(receiver.received.length).toBe(21);
});

test('what a dispatcher holds of a flood when it is killed, or stopped, another routes', async () => {
  const before = await stored();
  const first = await world.start();
  await world.deliveries(await world.publish({ subject: 'calm/r' }));
  await flood();
  await until('events are held', async () => ((await first.metric(held)) ?? 0) > 0);
  await first.stop('SIGKILL');
  const second = await world.start();
  await world.deliveries(await world.publish({ subject: 'calm/r' }));
  expect(await second.stop()).toBe(0);
  const third = await world.start();
  await until('all are routed', async () => (await stored()) === before + floodEvents);
  expect(await third.stop()).toBe(0);
});
