/** Which events go ahead of a flood, with a real broker and a router that takes only as much as it is let. */
import { type Incoming, openConsumer } from '@gatepost/amqp/consumer';
import { anyProducer } from '@gatepost/contracts/producers';
import { eventsQueue, topology } from '@gatepost/contracts/topology';
import { openLog } from '@gatepost/runtime/log';
import { openMetrics } from '@gatepost/runtime/metrics';
import { openProducer } from '@gatepost/testkit/producer';
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
    take(message) {
      ids.push(String(message.headers['cloudEvents:id']));
      message.ack();
    },
    add: async () => 'unknown',
    hasAccount: () => false,
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

// Ten seconds after the last event of a flood its account counted as calm, though much of it still waited here: what came then went first.
test('an event does not overtake the waiting flood of its own account, even after the flood is over', async () => {
  const [usual, ahead] = [openRouter(), openRouter()];
  ahead.let(Number.POSITIVE_INFINITY);
  const readAhead = stack.use(
    await openReadAhead({
      broker: { ...broker, queue: [eventsQueue], leftover: [] },
      producers: anyProducer,
      route: usual.route,
      ahead: ahead.route,
      backpressure: makeBackpressure(),
      eventsWaiting: async () => 0,
      settle: async (message: Pick<Incoming, 'giveBack'>) => message.giveBack(),
      registry: openMetrics(),
      log: broker.log,
      overMs,
    }),
  );
  stack.use(
    await openConsumer({
      ...broker,
      name: 'test',
      queue: eventsQueue,
      prefetch: 1_000,
      onMessage: readAhead.take,
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
