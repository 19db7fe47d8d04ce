/** The entry: takes messages from both queues, and on stopping lets what is in hand finish. */
import type { ConnectionOptions } from '@gatepost/amqp/connection';
import { type Incoming, openConsumer } from '@gatepost/amqp/consumer';
import { deliveriesQueue, eventsQueue, surgeQueue } from '@gatepost/contracts/topology';
import type { Batches } from './batch.ts';
import type { Deliver } from './deliver.ts';
import type { Surge } from './surge.ts';

export type Consumers = AsyncDisposable & { areConnected(): boolean };

// One batch being written, one waiting, and some being put aside.
const eventsPrefetch = 1_000;
// A batch at a time: what was put aside must not crowd out what was not.
const surgePrefetch = 100;

/**
 * Consumes events and delivery jobs. Disposing takes no further messages, waits for those in hand until `stopDeadlineMs`, then
 * gives up: what is not acked by then comes back to another dispatcher.
 */
export async function openConsumers(options: {
  broker: Omit<ConnectionOptions, 'name'>;
  route: Batches<Incoming>;
  /** Routes what was put aside. */
  routeSurge: Batches<Incoming>;
  surge: Surge;
  deliver: Deliver;
  env: { DELIVERY_CONCURRENCY: number };
  giveUp: AbortController;
  stopDeadlineMs: number;
}): Promise<Consumers> {
  const { broker, route, routeSurge, surge, deliver, giveUp } = options;
  const deliveries = await openConsumer({
    ...broker,
    name: 'gatepost dispatcher deliveries',
    queue: deliveriesQueue,
    // As many as wait for receivers, as many that wait for their row to be committed, and twice as many for their moment or lane.
    prefetch: options.env.DELIVERY_CONCURRENCY * 4,
    onMessage: (message) => deliver.take(message),
  });
  const events = await openConsumer({
    ...broker,
    name: 'gatepost dispatcher events',
    queue: eventsQueue,
    prefetch: eventsPrefetch,
    onMessage: (message) => {
      if (!surge.divert(message, route.waiting())) route.add(message);
    },
  });
  const surging = await openConsumer({
    ...broker,
    name: 'gatepost dispatcher surge',
    queue: surgeQueue,
    prefetch: surgePrefetch,
    onMessage: (message) => routeSurge.add(message),
  });
  return {
    areConnected: () => [events, surging, deliveries].every((consumer) => consumer.isConnected()),
    async [Symbol.asyncDispose]() {
      const timer = setTimeout(() => giveUp.abort(), options.stopDeadlineMs);
      await Promise.all([events.pause(), surging.pause(), deliveries.pause()]);
      await Promise.all([route.idle(), routeSurge.idle(), surge.idle()]);
      await deliver.finish();
      clearTimeout(timer);
      giveUp.abort();
      await Promise.all([events, surging, deliveries].map((consumer) => consumer[Symbol.asyncDispose]()));
    },
  };
}
