/**
 * The AMQP topology as data: `packages/amqp` declares it, RabbitMQ 3.10 and 4 both accept it. A broker refuses a second
 * declaration that differs: where arguments change, a queue that exists is kept as it is.
 */

/** Where producers publish; the routing key is the event type. */
export const eventsExchange = 'gatepost.events';
/** Every event that waits to be routed. */
export const eventsQueue = 'gatepost.events';
/** Every delivery that waits to be made, one message a hook. */
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
  /** Bindings of another number of shards, taken away once those above stand. */
  unbindings?: Binding[];
  /** Bind nothing where the first exchange is there already: somebody else has laid out where it leads. */
  bindsOnlyNew?: boolean;
};

export type Binding = { exchange: string; pattern: string } & ({ queue: string } | { toExchange: string });

/**
 * How often a message may come back before RabbitMQ drops it. RabbitMQ 4 does so after 20 times where a quorum queue sets nothing, and
 * only there means -1 no limit; a number that nobody reaches means the same to every version.
 */
export const deliveryLimit = 1_000_000;
const quorum = { 'x-queue-type': 'quorum', 'x-delivery-limit': deliveryLimit };

export const topology: Topology = {
  exchanges: [{ name: eventsExchange, type: 'topic', durable: true }],
  queues: [
    // Redelivered when a dispatcher stops while holding it, and whenever an account floods.
    { name: eventsQueue, durable: true, arguments: quorum },
    // Comes back when a dispatcher stops with it in hand.
    { name: deliveriesQueue, durable: true, arguments: quorum },
    // Redelivered each time an operator looks at it.
    { name: deadEventsQueue, durable: true, arguments: quorum },
  ],
  bindings: [{ exchange: eventsExchange, queue: eventsQueue, pattern: '#' }],
};

/** For services that publish: only dispatchers know into how many queues events are spread (`shards.ts`). */
export const publishersTopology: Topology = { ...topology, bindsOnlyNew: true };

/**
 * The limit for dead letters in a queue that was declared before it had one: a queue's arguments cannot be changed, and a policy says
 * the same. Of argument and policy RabbitMQ takes the lower.
 */
export const deadLettersPolicy = {
  name: 'gatepost-dead-letters',
  pattern: '^gatepost\\.events\\.dead$',
  'apply-to': 'queues',
  definition: { 'delivery-limit': deliveryLimit },
  priority: 0,
};

/**
 * What becomes of an event that came back more often than its limit: it is a dead letter, and leaves its queue only when that one has it
 * (RabbitMQ's at-least-once dead-lettering, which demands that a full queue refuses).
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
 * What a producer's AMQP user may do, as RabbitMQ's patterns: write to the exchange, and nothing else. The queue of the same name is
 * not reached by it: that takes the default exchange, or a binding, which takes `read` on an exchange.
 */
export const producerPermissions = { configure: '^$', write: '^gatepost\\.events$', read: '^$' };

/** AMQP header of any message: the trace that it belongs to (https://www.w3.org/TR/trace-context/#traceparent-header). */
export const traceHeader = 'traceparent';

/** AMQP headers of a message in `gatepost.events.dead`. */
export const deadReasonHeader = 'x-reason';
export const deadDetailHeader = 'x-detail';
