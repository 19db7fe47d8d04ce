/**
 * The AMQP topology as data: `packages/amqp` declares it, RabbitMQ 3.10 and 4 both take it. The arguments never change for
 * a queue that exists, since a broker refuses a second declaration that differs.
 */

/** Where producers publish; the routing key is the event type. */
export const eventsExchange = 'gatepost.events';
/** Every event that waits to be routed. */
export const eventsQueue = 'gatepost.events';
/** Every delivery that waits to be made, one message a hook. */
export const deliveriesQueue = 'gatepost.deliveries';
/** What could not be taken as an event, with `x-reason` and `x-detail`. */
export const deadEventsQueue = 'gatepost.events.dead';

export type Topology = {
  exchanges: { name: string; type: 'topic' | 'fanout' | 'direct'; durable: boolean }[];
  queues: { name: string; durable: boolean; arguments: Record<string, unknown> }[];
  bindings: { exchange: string; queue: string; pattern: string }[];
};

// A message comes back whenever a dispatcher stops with it in hand; RabbitMQ 4 would drop it after 20 times.
const quorum = { 'x-queue-type': 'quorum', 'x-delivery-limit': 1_000_000 };

export const topology: Topology = {
  exchanges: [{ name: eventsExchange, type: 'topic', durable: true }],
  queues: [
    { name: eventsQueue, durable: true, arguments: quorum },
    { name: deliveriesQueue, durable: true, arguments: quorum },
    { name: deadEventsQueue, durable: true, arguments: { 'x-queue-type': 'quorum' } },
  ],
  bindings: [{ exchange: eventsExchange, queue: eventsQueue, pattern: '#' }],
};

/**
 * What a producer's AMQP user may do, as RabbitMQ's patterns: write to the exchange, and nothing else. The queue of the same name is
 * not reached by it: that takes the default exchange, or a binding, which takes `read` on an exchange.
 */
export const producerPermissions = { configure: '^$', write: '^gatepost\\.events$', read: '^$' };

/** AMQP headers of a message in `gatepost.events.dead`. */
export const deadReasonHeader = 'x-reason';
export const deadDetailHeader = 'x-detail';
