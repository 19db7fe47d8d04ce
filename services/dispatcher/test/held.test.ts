/** Two messages of one event that were both in somebody's hands before, as what is held during a flood: two dispatchers get one each. */
import { randomUUID } from 'node:crypto';
import { type Incoming, openConsumer } from '@gatepost/amqp/consumer';
import { eventsQueue, topology } from '@gatepost/contracts/topology';
import { openLog } from '@gatepost/runtime/log';
import { openReceiver, type Receiver } from '@gatepost/testkit/receiver';
import { openRelay, type Relay } from '@gatepost/testkit/relay';
import { management } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { type Dispatcher, openWorld, type World } from './world.ts';

const copies = 8;
let world: World;
let receiver: Receiver;
const relays = new AsyncDisposableStack();

beforeAll(async () => {
  world = await openWorld();
  receiver = await openReceiver();
  for (const login of ['acme', 'single', 'other']) {
    await world.addAccount(login, ['widgets']);
    await world.addHook(login, { url: `${receiver.url}/${login}`, retry: false });
  }
  // An event with a single delivery needs no job.
  await world.addHook('acme', { url: `${receiver.url}/acme/2`, retry: false });
  await world.addAccount('uneven', ['widgets']);
  for (const events of [['issues'], ['issues', 'star']]) await world.addHook('uneven', { url: receiver.url, events });
});
beforeEach(() => {
  receiver.received.length = 0;
});
afterAll(async () => {
  await relays.disposeAsync();
  await world?.[Symbol.asyncDispose]();
  await receiver?.[Symbol.asyncDispose]();
});

/** A RabbitMQ that gets nothing over a connection that has sent `first`, nor that itself, until it is told to. */
async function openSlow(first: string): Promise<Relay & { release(): void; holds(): boolean }> {
  let isHolding = true;
  const held: (() => void)[] = [];
  const relay = await openRelay(world.amqpUrl, (client, server) => {
    let isHeld = false;
    client.on('data', (chunk) => {
      isHeld ||= chunk.includes(first);
      if (isHolding && isHeld) held.push(() => server.write(chunk));
      else server.write(chunk);
    });
    server.on('data', (chunk) => client.write(chunk));
  });
  return Object.assign(relay, {
    holds: () => held.length > 0,
    release() {
      isHolding = false;
      for (const go of held.splice(0)) go();
    },
  });
}

/** Takes the messages of an event from the queue, and gives each back when it is told to. */
async function takeAll(guid: string, count: number): Promise<{ messages: Incoming[] } & AsyncDisposable> {
  const messages: Incoming[] = [];
  const consumer = await openConsumer({
    url: world.amqpUrl,
    name: 'test',
    log: openLog('test', 'silent'),
    topology,
    queue: eventsQueue,
    prefetch: 100,
    onMessage(message) {
      if (message.messageId === guid) messages.push(message);
      else message.ack(); // left by the test before
    },
  });
  await until('all messages are taken', () => messages.length === count);
  await consumer.pause();
  return { messages, [Symbol.asyncDispose]: () => consumer[Symbol.asyncDispose]() };
}

const job = 'job-code';
const greeting = 'AMQP';

/** One dispatcher routes the event and cannot publish its jobs; another has been given copies of the event. */
const betweenTwo = (slow: Awaited<ReturnType<typeof openSlow>>) =>
  openTwoDispatchers('acme/widgets', { AMQP_URL: slow.url }, slow.holds);

/** One dispatcher has begun with the event (`hasBegun`); another has been given copies of the event. */
async function openTwoDispatchers(
  subject: string,
  env: Record<string, string>,
  hasBegun: (guid: string) => boolean,
): Promise<{ guid: string; both: Dispatcher[] }> {
  const guid = randomUUID();
  for (let count = 0; count < copies; count += 1) await world.publish({ id: guid, subject });
  await using taken = await takeAll(guid, copies);
  const [one, ...others] = taken.messages;
  const first = await world.start(env);
  // Started already, so that the first need not wait: jobs that are not confirmed within ten seconds are published again.
  const late = relays.use(await openSlow(greeting));
  const starting = world.start({ AMQP_URL: late.url });
  await until('the second has been started', late.holds);
  one!.giveBack();
  await until('the first is about the event', () => hasBegun(guid));
  late.release();
  const second = await starting;
  for (const message of others) message.giveBack();
  // Each dispatcher gets some of the copies, and some of these behind them.
  const more = await Promise.all(Array.from({ length: copies }, () => world.publish({ subject: 'other/widgets' })));
  await until('the second has looked at its copies', () => more.some((id) => requests(id) > 0));
  return { guid, both: [first, second] };
}
// The receiver answers when the test says so, however long the rest takes.
const patient = { DELIVERY_TIMEOUT_MS: '600000', RESCUE_AFTER_SECONDS: '630' };
const requests = (guid: string) => receiver.received.filter((one) => one.headers['x-github-delivery'] === guid).length;
const queueIsEmpty = async () => {
  const vhost = new URL(world.amqpUrl).pathname.slice(1);
  const found = (await management('GET', `/api/queues/${vhost}?disable_stats=true&enable_queue_totals=true`)) as {
    messages?: number;
  }[];
  return found.every(({ messages = 0 }) => messages === 0);
};

// Each took the other for dead: whatever comes a second time was thought to be abandoned by whoever had it first.
test('copies of an event make one delivery per hook while another dispatcher is still routing the event', async () => {
  await using slow = await openSlow(job);
  const { guid, both } = await betweenTwo(slow);
  expect(requests(guid)).toBe(0);
  slow.release();
  await world.deliveries(guid, 2);
  await until('every message is settled', queueIsEmpty);
  for (const dispatcher of both) expect(await dispatcher.stop()).toBe(0);
  expect(requests(guid)).toBe(2);
});

test('when the dispatcher that is routing an event dies, the dispatcher with a copy of it makes the deliveries', async () => {
  await using slow = await openSlow(job);
  const { guid, both } = await betweenTwo(slow);
  const [first, second] = both;
  await first!.stop('SIGKILL');
  await world.deliveries(guid, 2);
  await until('every message is settled', queueIsEmpty);
  expect(await second!.stop()).toBe(0);
  expect(requests(guid)).toBe(2);
});

test('copies of an event make no second request while another dispatcher waits for the answer of its only receiver', async () => {
  const answer = Promise.withResolvers<void>();
  receiver.behave(({ path }) => (path === '/single' ? { after: answer.promise } : {}));
  const { guid, both } = await openTwoDispatchers('single/widgets', patient, (id) => requests(id) > 0);
  answer.resolve();
  await world.deliveries(guid);
  await until('every message is settled', queueIsEmpty);
  for (const dispatcher of both) expect(await dispatcher.stop()).toBe(0);
  expect(requests(guid)).toBe(1);
});

test('when the dispatcher that waits for the only receiver dies, the dispatcher with a copy makes the request again', async () => {
  const answer = Promise.withResolvers<void>();
  receiver.behave(({ path }, index) => (path === '/single' && index === 0 ? { after: answer.promise } : {}));
  const { guid, both } = await openTwoDispatchers('single/widgets', patient, (id) => requests(id) > 0);
  await both[0]!.stop('SIGKILL');
  const logged = await world.deliveries(guid);
  answer.resolve();
  await until('every message is settled', queueIsEmpty);
  expect(await both[1]!.stop()).toBe(0);
  expect(requests(guid)).toBe(2);
  expect(logged).toHaveLength(1);
});

test('of two messages with one id that match different hooks the first decides, and all its hooks get a delivery', async () => {
  const guid = randomUUID();
  for (const type of ['issues', 'star']) await world.publish({ id: guid, type, subject: 'uneven/widgets' });
  const dispatcher = await world.start();
  await world.deliveries(guid, 2);
  expect(await dispatcher.stop()).toBe(0);
  const ofIt = receiver.received.filter(({ headers }) => headers['x-github-delivery'] === guid);
  expect(ofIt.map(({ headers }) => headers['x-github-event'])).toEqual(['issues', 'issues']);
});

test('an event that PostgreSQL lost while its delivery was being made is stored again together with the outcome', async () => {
  const answer = Promise.withResolvers<void>();
  receiver.behave(({ path }) => (path === '/single' ? { after: answer.promise } : {}));
  const dispatcher = await world.start(patient);
  const guid = await world.publish({ subject: 'single/widgets' });
  await until('the request is made', () => requests(guid) > 0);
  await world.pool.query('DELETE FROM events WHERE guid = $1', [guid]);
  answer.resolve();
  const [logged] = await world.deliveries(guid);
  const rows = await until('the event is there', async () => {
    const found = await world.pool.query('SELECT delivery_ids, payload FROM events WHERE guid = $1', [guid]);
    return found.rows.length > 0 && found.rows;
  });
  expect(rows).toEqual([{ delivery_ids: [logged!.id], payload: receiver.received.at(-1)!.body }]);
  expect(await dispatcher.stop()).toBe(0);
});
