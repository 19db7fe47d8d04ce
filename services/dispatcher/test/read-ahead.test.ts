/** Which events go ahead of a flood, with a real broker and a router that takes only as much as it is let. */
import { type Incoming, openConsumer } from '@gatepost/amqp/consumer';
import { openPublisher } from '@gatepost/amqp/publisher';
import { anyProducer, type Producers } from '@gatepost/contracts/producers';
import { eventsExchange, eventsQueue, topology } from '@gatepost/contracts/topology';
import { openLog } from '@gatepost/runtime/log';
import { openMetrics } from '@gatepost/runtime/metrics';
import { openProducer } from '@gatepost/testkit/producer';
import { openRelay } from '@gatepost/testkit/relay';
import { freshVhost } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import { makeBackpressure } from '../src/fairness/backpressure.ts';
import { openReadAhead } from '../src/fairness/read-ahead.ts';
import type { Route } from '../src/routing/route.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync(), 30_000);
const vhost = stack.use(await freshVhost());
const broker = { url: vhost.url, log: openLog('test', 'silent'), topology };
const overMs = 500;
const flood = 3_000;

/** Takes messages while they are fewer than `most`, and is done with each at once. */
function openRouter() {
  const ids: string[] = [];
  let most = 0;
  const route: Route = {
    receive(message) {
      ids.push(String(message.headers['cloudEvents:id']));
      message.ack();
    },
    add: async () => 'unknown',
    hasEarlier: () => false,
    letAhead: () => {},
    waiting: () => (ids.length < most ? 0 : 1_000),
    bytes: () => 0,
    routing: () => 0,
    finish: async () => {},
  };
  return {
    ids,
    route,
    let(count: number) {
      most = count;
    },
  };
}

const openReading = (url: string, route: Route, ahead: Route, producers: Producers = anyProducer) =>
  openReadAhead({
    broker: { ...broker, url, queue: [eventsQueue], leftover: [] },
    producers,
    route,
    ahead,
    backpressure: makeBackpressure(),
    eventsWaiting: async () => 0,
    settle: async (message: Pick<Incoming, 'giveBack'>) => message.giveBack(),
    registry: openMetrics(),
    log: broker.log,
    overMs,
  });

// Ten seconds after the last event of a flood its account counted as calm, though much of it still waited here: what came then went first.
test('an event does not overtake the waiting flood of its own account, even after the flood is over', async () => {
  const [usual, ahead] = [openRouter(), openRouter()];
  ahead.let(Number.POSITIVE_INFINITY);
  const readAhead = stack.use(await openReading(vhost.url, usual.route, ahead.route));
  stack.use(
    await openConsumer({
      ...broker,
      name: 'test',
      queue: eventsQueue,
      prefetch: 1_000,
      onMessage: readAhead.receive,
    }),
  );
  const producer = stack.use(await openProducer(vhost.url));
  const publish = (login: string, from: number, count: number) =>
    Promise.all(
      Array.from({ length: count }, (_, index) =>
        producer.publish({ subject: `${login}/r`, id: `${login} ${from + index}` }),
      ),
    );
  usual.let(201); // until it is a flood
  await publish('calm', 0, 1);
  await publish('flood', 0, flood);
  await until('the flood is held', async () => {
    await publish('calm', 1, 1);
    return ahead.ids.length > 0;
  });
  expect(usual.ids.length).toBeLessThan(flood);
  await new Promise((resolve) => setTimeout(resolve, overMs + 2_500)); // nobody counts as flooding any more
  await publish('flood', flood, 1);
  await publish('other', 0, 1);
  await until('what came last is ahead', () => ahead.ids.includes('other 0'));
  expect(ahead.ids).not.toContain(`flood ${flood}`);
  usual.let(Number.POSITIVE_INFINITY);
  await until('all of the flood is routed', () => usual.ids.includes(`flood ${flood}`));
  expect(usual.ids.at(-1)).toBe(`flood ${flood}`);
  await readAhead.pause();
});

// What was lost with its connection counted as in hand for ever: after enough of it, nothing was taken any more.
test('a flood that waits here when the connection breaks does not keep later events from being taken', async () => {
  const [usual, ahead] = [openRouter(), openRouter()];
  ahead.let(Number.POSITIVE_INFINITY);
  const lossy = stack.use(await freshVhost());
  const relay = stack.use(
    await openRelay(lossy.url, (client, server) => {
      client.pipe(server);
      server.pipe(client);
    }),
  );
  const readAhead = stack.use(await openReading(lossy.url, usual.route, ahead.route));
  const inHand = 1_000;
  const body = { text: 'x'.repeat(1_000) };
  let taken = 0;
  const consumer = stack.use(
    await openConsumer({
      ...broker,
      url: relay.url,
      name: 'test',
      queue: eventsQueue,
      prefetch: inHand,
      maxBytes: inHand * 1_300,
      onMessage(message) {
        taken += 1;
        readAhead.receive(message);
      },
    }),
  );
  const producer = stack.use(await openProducer(lossy.url));
  const publish = (login: string, from: number, count: number) =>
    Promise.all(
      Array.from({ length: count }, (_, index) =>
        producer.publish({ subject: `${login}/r`, id: `${login} ${from + index}`, body }),
      ),
    );
  usual.let(201); // until it is a flood
  await publish('calm', 0, 1);
  await publish('flood', 0, 2 * flood);
  await until(
    'the usual consumer has its hands full',
    () => taken - usual.ids.length - ahead.ids.length > inHand * 0.9,
  );
  relay.cut();
  await until('the connection is lost', () => !consumer.isConnected());
  usual.let(Number.POSITIVE_INFINITY);
  // On a busy machine they come back too slowly to be a flood, and go ahead.
  const all = () => new Set([...usual.ids, ...ahead.ids].filter((id) => id.startsWith('flood'))).size;
  await until('all of the flood is routed', () => all() === 2 * flood);
  usual.let(0);
  const inHandNow = () => taken - usual.ids.length - ahead.ids.length;
  const before = inHandNow();
  await publish('later', 0, 2 * flood);
  await until('it has its hands full again', () => inHandNow() - before > inHand * 0.6);
  usual.let(Number.POSITIVE_INFINITY);
  await until('later events are routed', () => [...usual.ids, ...ahead.ids].includes(`later ${2 * flood - 1}`));
  await readAhead.pause();
});

// Nobody could be told from anybody else: everybody waited behind such a flood.
test.each<[string, string, (subject: string) => string, Producers]>([
  [
    'in structured mode',
    'application/cloudevents+json',
    (subject) => JSON.stringify({ specversion: '1.0', subject, data: {} }),
    anyProducer,
  ],
  [
    'of an account that its producer may not publish for',
    'application/json',
    () => '{}',
    {
      refuse: (_user, account) =>
        account === 'flood' ? { reason: 'producer_not_allowed', detail: 'not for this account' } : undefined,
    },
  ],
])('the events of a quiet account go ahead of a flood %s', async (_how, contentType, bodyOf, producers) => {
  const own = stack.use(await freshVhost());
  const [usual, ahead] = [openRouter(), openRouter()];
  ahead.let(Number.POSITIVE_INFINITY);
  const readAhead = stack.use(await openReading(own.url, usual.route, ahead.route, producers));
  stack.use(
    await openConsumer({
      ...broker,
      url: own.url,
      name: 'test',
      queue: eventsQueue,
      prefetch: 1_000,
      onMessage: readAhead.receive,
    }),
  );
  const publisher = stack.use(await openPublisher({ ...broker, url: own.url, name: 'test' }));
  const publish = (login: string, from: number, count: number) =>
    Promise.all(
      Array.from({ length: count }, (_, index) =>
        publisher.publish({
          exchange: eventsExchange,
          routingKey: 'push',
          messageId: `${login} ${from + index}`,
          contentType,
          headers: { 'cloudEvents:id': `${login} ${from + index}`, 'cloudEvents:subject': `${login}/r` },
          body: Buffer.from(bodyOf(`${login}/r`)),
        }),
      ),
    );
  usual.let(201); // until it is a flood
  await publish('calm', 0, 1);
  await publish('flood', 0, flood);
  let calm = 1;
  await until('a quiet account goes ahead', async () => {
    await publish('calm', calm++, 1);
    return ahead.ids.some((id) => id.startsWith('calm'));
  });
  expect(usual.ids.length).toBeLessThan(flood);
  usual.let(Number.POSITIVE_INFINITY);
  await until('all of the flood is routed', () => usual.ids.filter((id) => id.startsWith('flood')).length === flood);
  await readAhead.pause();
});
