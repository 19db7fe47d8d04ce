/** The entry point: receives messages from both queues, and on shutdown lets work in hand finish. */
import type { ConnectionOptions } from '@gatepost/amqp/connection';
import { openConsumer } from '@gatepost/amqp/consumer';
import type { Producers } from '@gatepost/contracts/producers';
import { type AllShards, type Shards, shardQueues } from '@gatepost/contracts/shards';
import { deliveriesQueue, eventsQueue } from '@gatepost/contracts/topology';
import type { Log } from '@gatepost/runtime/log';
import type { Registry } from '@gatepost/runtime/metrics';
import type { Inbox } from './delivering/inbox.ts';
import type { Backpressure } from './fairness/backpressure.ts';
import { openReadAhead } from './fairness/read-ahead.ts';
import type { Route } from './routing/route.ts';
import type { Settle } from './settling/settle.ts';

export type Consumers = AsyncDisposable & { areConnected(): boolean };

// One batch being written and two waiting, besides the messages whose deliveries are under way: what waits longer outlives V8's young generation.
// Every shard gets the full number: an account floods only one, and the queue that builds up here shows that others are waiting there
// (fairness/read-ahead.ts). Total bytes are bounded.
const eventsPrefetch = 300;
const eventsMaxBytes = 64 * 1024 * 1024;

/**
 * Consumes events and delivery jobs. Disposing stops receiving messages, waits for those in hand until `stopDeadlineMs`, then gives up:
 * whatever is not acked by then goes to another dispatcher.
 */
export async function openConsumers(options: {
  broker: Omit<ConnectionOptions, 'name'> & { registry: Registry };
  log: Log;
  shards: AllShards;
  producers: Producers;
  route: Route;
  /** Routes events that need not wait behind a flood. */
  routeAhead: Route;
  backpressure: Backpressure;
  eventsWaiting: () => Promise<number>;
  inbox: Inbox;
  settle: Settle;
  env: { DELIVERY_CONCURRENCY: number };
  giveUp: AbortController;
  stopDeadlineMs: number;
}): Promise<Consumers> {
  const { broker, shards, route, routeAhead, inbox, giveUp } = options;
  const concurrency = options.env.DELIVERY_CONCURRENCY;
  const eventQueues = queuesOf(eventsQueue, shards.events);
  const { registry } = broker;
  const ahead = { ...options, broker: { ...broker, ...eventQueues }, ahead: routeAhead, registry };
  const readAhead = await openReadAhead(ahead);
  const deliveries = await openConsumer({
    ...broker,
    name: 'gatepost dispatcher deliveries',
    ...queuesOf(deliveriesQueue, shards.deliveries),
    // Attempts in flight, as many being recorded, and twice as many waiting for their time or for a cap. This is divided among the shards, but
    // a single shard can still keep all attempts busy.
    prefetch: Math.max(Math.ceil((concurrency * 4) / shards.deliveries.used), concurrency),
    onMessage: inbox.receive,
  });
  const events = await openConsumer({
    ...broker,
    name: 'gatepost dispatcher events',
    ...eventQueues,
    prefetch: eventsPrefetch + concurrency * 2,
    maxBytes: eventsMaxBytes,
    onMessage: readAhead.receive,
  });
  return {
    areConnected: () => events.isConnected() && deliveries.isConnected(),
    async [Symbol.asyncDispose]() {
      const timer = setTimeout(() => giveUp.abort(), options.stopDeadlineMs);
      await Promise.all([events.pause(), readAhead.pause(), deliveries.pause()]);
      // Together, because events wait for the deliveries made from them here.
      await Promise.all([route.finish(), routeAhead.finish(), inbox.finish()]);
      clearTimeout(timer);
      giveUp.abort();
      await Promise.all([events, readAhead, deliveries].map((consumer) => consumer[Symbol.asyncDispose]()));
    },
  };
}

/** Our shards, plus those left over from a larger shard count until they are deleted. */
function queuesOf(name: string, { used, there }: Shards): { queue: string[]; leftover: string[] } {
  const all = shardQueues(name, there);
  return { queue: all.slice(0, used), leftover: all.slice(used) };
}
