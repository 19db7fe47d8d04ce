/** Large events are routed apart, so that small ones do not wait for them. */
import { openReceiver, type Receiver } from '@gatepost/testkit/receiver';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { lockEvent } from './lock-event.ts';
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

test('while a large event is stored, small events of other accounts do not wait, and those of its own account do not overtake it', async () => {
  using lock = await lockEvent(world, 'large');
  const { id, source, subject } = lock;
  await world.publish({ id, source, subject, payload: large });
  await lock.isWaitedFor();
  const behind = await world.publish({ subject });
  await world.deliveries(await world.publish({ subject: 'small/r' }));
  lock.release();
  const [first] = await world.deliveries(id);
  const [second] = await world.deliveries(behind);
  expect(Number(second!.id)).toBeGreaterThan(Number(first!.id));
});

test('a large event does not overtake an earlier small one of its account', async () => {
  using lock = await lockEvent(world, 'large');
  const { id, source, subject } = lock;
  await world.publish({ id, source, subject });
  await lock.isWaitedFor();
  const behind = await world.publish({ subject, payload: large });
  await world.deliveries(await world.publish({ subject: 'small/r', payload: large }));
  const guids = () => receiver.received.map(({ headers }) => headers['x-github-delivery']);
  expect(guids()).not.toContain(behind);
  lock.release();
  await world.deliveries(id);
  await world.deliveries(behind);
  expect(guids().slice(-2)).toEqual([id, behind]);
});
