/** The entry: takes messages from both queues, and on stopping lets what is in hand finish. */
import type { ConnectionOptions } from '@gatepost/amqp/connection';
import { openConsumer } from '@gatepost/amqp/consumer';
import type { Producers } from '@gatepost/contracts/producers';
import { deliveriesQueue, eventsQueue } from '@gatepost/contracts/topology';
import type { Log } from '@gatepost/runtime/log';
import type { Registry } from '@gatepost/runtime/metrics';
import type { Inbox } from './delivering/inbox.ts';
import type { Backpressure } from './fairness/backpressure.ts';
import { openReadAhead } from './fairness/read-ahead.ts';
import type { Route } from './routing/route.ts';
import type { Settle } from './settle.ts';

export type Consumers = AsyncDisposable & { areConnected(): boolean };

// One batch that is being written, and some that wait. Beside them are those whose delivery is being made.
const eventsPrefetch = 1_000;
const eventsMaxBytes = 64 * 1024 * 1024;

/**
 * Consumes events and delivery jobs. Disposing takes no further messages, waits for those in hand until `stopDeadlineMs`, then
 * gives up: what is not acked by then comes back to another dispatcher.
 */
export async function openConsumers(options: {
  broker: Omit<ConnectionOptions, 'name'> & { registry: Registry };
  log: Log;
  producers: Producers;
  route: Route;
  /** Routes what need not wait behind a flood. */
  routeAhead: Route;
  backpressure: Backpressure;
  eventsWaiting: () => Promise<number>;
  inbox: Inbox;
  settle: Settle;
  env: { DELIVERY_CONCURRENCY: number };
  giveUp: AbortController;
  stopDeadlineMs: number;
}): Promise<Consumers> {
  const { broker, producers, route, routeAhead, backpressure, eventsWaiting, inbox, settle, giveUp, log } = options;
  const { registry } = broker;
  const readAhead = await openReadAhead({
    broker,
    producers,
    route,
    ahead: routeAhead,
    backpressure,
    eventsWaiting,
    settle,
    registry,
    log,
  });
  const deliveries = await openConsumer({
    ...broker,
    name: 'gatepost dispatcher deliveries',
    queue: deliveriesQueue,
    // Attempts in flight, as many that are being recorded, and twice as many that wait for their time or for a cap.
    prefetch: options.env.DELIVERY_CONCURRENCY * 4,
    onMessage: inbox.take,
  });
  const events = await openConsumer({
    ...broker,
    name: 'gatepost dispatcher events',
    queue: eventsQueue,
    prefetch: eventsPrefetch + options.env.DELIVERY_CONCURRENCY * 2,
    maxBytes: eventsMaxBytes,
    onMessage: readAhead.take,
  });
  return {
    areConnected: () => events.isConnected() && deliveries.isConnected(),
    async [Symbol.asyncDispose]() {
      const timer = setTimeout(() => giveUp.abort(), options.stopDeadlineMs);
      await Promise.all([events.pause(), readAhead.pause(), deliveries.pause()]);
      // Together: events wait for the deliveries that are made of them here.
      await Promise.all([route.finish(), routeAhead.finish(), inbox.finish()]);
      clearTimeout(timer);
      giveUp.abort();
      await Promise.all([events, readAhead, deliveries].map((consumer) => consumer[Symbol.asyncDispose]()));
    },
  };
}
