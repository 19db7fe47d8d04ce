/**
 * The AMQP topology as data: `packages/amqp` declares it, and both RabbitMQ 3.10 and 4 accept it. A broker refuses to redeclare a queue
 * with other arguments: where they change, an existing queue is kept as it is.
 */

/** Where producers publish; the routing key is the event type. */
export const eventsExchange = 'gatepost.events';
/** Every event waiting to be routed. */
export const eventsQueue = 'gatepost.events';
/** Every delivery waiting to be made, one message per hook. */
export const deliveriesQueue = 'gatepost.deliveries';
/** Dead letters: messages that could not be accepted, with `x-reason` and `x-detail`. */
export const deadEventsQueue = 'gatepost.events.dead';

export type Topology = {
  exchanges: {
    name: string;
    type: 'topic' | 'fanout' | 'direct' | 'x-consistent-hash';
    durable: boolean;
    arguments?: Record<string, unknown>;
  }[];
  queues: { name: string; durable: boolean; arguments: Record<string, unknown> }[];
  bindings: Binding[];
  /** Bindings from another number of shards, removed once those above exist. */
  unbindings?: Binding[];
  /** Bind nothing if the first exchange already exists: somebody else has decided where it leads. */
  bindsOnlyNew?: boolean;
};

export type Binding = { exchange: string; pattern: string } & ({ queue: string } | { toExchange: string });

/**
 * How often a message may come back before RabbitMQ drops it. RabbitMQ 4 drops it after 20 times unless the quorum queue says otherwise, and
 * only RabbitMQ 4 takes -1 for no limit; an unreachable number means the same to every version.
 */
export const deliveryLimit = 1_000_000;
const quorum = { 'x-queue-type': 'quorum', 'x-delivery-limit': deliveryLimit };

export const topology: Topology = {
  exchanges: [{ name: eventsExchange, type: 'topic', durable: true }],
  queues: [
    // Redelivered when a dispatcher stops while holding it, and whenever an account floods.
    { name: eventsQueue, durable: true, arguments: quorum },
    // Redelivered when a dispatcher stops while holding it.
    { name: deliveriesQueue, durable: true, arguments: quorum },
    // Redelivered each time an operator looks at it.
    { name: deadEventsQueue, durable: true, arguments: quorum },
  ],
  bindings: [{ exchange: eventsExchange, queue: eventsQueue, pattern: '#' }],
};

/** For services that publish: only dispatchers know how many queues events are spread over (`shards.ts`). */
export const publishersTopology: Topology = { ...topology, bindsOnlyNew: true };

/**
 * The limit for a dead-letter queue declared before it had one: a queue's arguments cannot be changed, but a policy has the same effect. Of
 * argument and policy RabbitMQ uses the lower.
 */
export const deadLettersPolicy = {
  name: 'gatepost-dead-letters',
  pattern: '^gatepost\\.events\\.dead$',
  'apply-to': 'queues',
  definition: { 'delivery-limit': deliveryLimit },
  priority: 0,
};

/**
 * An event that came back more often than its limit becomes a dead letter, and leaves its queue only when the other queue has it (RabbitMQ's
 * at-least-once dead-lettering, which requires that a full queue refuses messages).
 */
export const eventsPolicy = {
  name: 'gatepost-events',
  pattern: '^gatepost\\.events(\\.[0-9]+)?$',
  'apply-to': 'queues',
  definition: {
    'dead-letter-exchange': '',
    'dead-letter-routing-key': deadEventsQueue,
    'dead-letter-strategy': 'at-least-once',
    overflow: 'reject-publish',
  },
  priority: 0,
};

/**
 * The permissions of a producer's AMQP user, as RabbitMQ patterns: it may write to the exchange, and nothing else. That does not reach the
 * queue of the same name, which takes the default exchange, or a binding with `read` on an exchange.
 */
export const producerPermissions = { configure: '^$', write: '^gatepost\\.events$', read: '^$' };

/** AMQP header of any message: the trace that it belongs to (https://www.w3.org/TR/trace-context/#traceparent-header). */
export const traceHeader = 'traceparent';

/** AMQP headers of a message in `gatepost.events.dead`. */
export const deadReasonHeader = 'x-reason';
export const deadDetailHeader = 'x-detail';
