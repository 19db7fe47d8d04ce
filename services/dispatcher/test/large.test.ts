/** Large events are routed apart, so that small ones do not wait for them. */
import { randomUUID } from 'node:crypto';
import { openPublisher, type Publisher } from '@gatepost/amqp/publisher';
import { eventsExchange, topology } from '@gatepost/contracts/topology';
import { openLog } from '@gatepost/runtime/log';
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

// What nobody had read yet could not be told to be of that account.
test('a small event does not overtake a large structured one of its account whose attributes come last', async () => {
  using lock = await lockEvent(world, 'large');
  const { id, source, subject } = lock;
  const publish = (publisher: Publisher, event: { id: string; subject: string; data: object }) => {
    const { id: messageId, data, ...named } = event;
    const more = { specversion: '1.0', id: messageId, source, type: 'issues', time: new Date().toISOString() };
    const body = Buffer.from(JSON.stringify({ data, ...named, ...more }));
    const to = { exchange: eventsExchange, routingKey: 'issues', contentType: 'application/cloudevents+json' };
    return publisher.publish({ ...to, messageId, body });
  };
  await publish(world.publisher, { id, subject, data: large });
  await lock.isWaitedFor();
  const behind = await world.publish({ subject });
  // By a producer that is told apart: when its event is delivered, the other could have been.
  const { username: userId } = new URL(world.amqpUrl);
  const log = openLog('test', 'silent');
  await using other = await openPublisher({ url: world.amqpUrl, name: 'test', log, topology, userId });
  const quick = { id: randomUUID(), subject: 'small/r', data: {} };
  await publish(other, quick);
  await world.deliveries(quick.id);
  lock.release();
  const [first] = await world.deliveries(id);
  const [second] = await world.deliveries(behind);
  expect(Number(second!.id)).toBeGreaterThan(Number(first!.id));
});
