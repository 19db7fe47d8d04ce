/**
 * Events and deliveries spread over several queues, the shards, by RabbitMQ's consistent-hash exchange: events by account, deliveries by hook.
 * The first shard is the queue used without sharding, so that programs that know nothing of shards keep working.
 */
import { type Binding, deliveriesQueue, eventsExchange, eventsQueue, type Topology, topology } from './topology.ts';

/** Beyond this, the cost exceeds the gain: each shard is a Raft group of its own. */
export const shardsMax = 64;

/** `used`: how many take messages. `there`: how many exist; those beyond `used` are left from a larger number, and are only emptied. */
export type Shards = { used: number; there: number };
export type AllShards = { events: Shards; deliveries: Shards };

/** What the exchanges hash: the CloudEvents attribute for this purpose, and the routing key. */
const partitionHeader = 'cloudEvents:partitionkey';
const eventsShards = { name: `${eventsQueue}.shards`, arguments: { 'hash-header': partitionHeader } };
const deliveriesShards = { name: `${deliveriesQueue}.shards`, arguments: {} };

/** The attribute `partitionkey`: the account, so that its events stay together. */
export function partitionKeyOf(subject: string): string {
  return String(subject).split('/', 1)[0]!.toLowerCase();
}

/** The queues of this many shards: `name`, `name.2`, `name.3` … */
export function shardQueues(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => (index === 0 ? name : `${name}.${index + 1}`));
}

/** Where to publish a job. */
export function jobAddress(hookId: number, shards: number): { exchange: string; routingKey: string } {
  if (shards === 1) return { exchange: '', routingKey: deliveriesQueue };
  return { exchange: deliveriesShards.name, routingKey: String(hookId) };
}

/**
 * What dispatchers declare. With one shard, and none left over, it is `topology`. New bindings are made before old ones are removed: meanwhile
 * an event may arrive through both, and the second copy is dropped as a duplicate.
 */
export function topologyOf({ events, deliveries }: AllShards): Topology {
  const direct: Binding = { exchange: eventsExchange, queue: eventsQueue, pattern: '#' };
  const spread: Binding = { exchange: eventsExchange, toExchange: eventsShards.name, pattern: '#' };
  const quorum = topology.queues[0]!;
  const isSpread = events.used > 1;
  return {
    exchanges: [
      ...topology.exchanges,
      ...(isSpread ? [{ ...eventsShards, type, durable: true }] : []),
      ...(deliveries.used > 1 ? [{ ...deliveriesShards, type, durable: true }] : []),
    ],
    queues: [
      ...topology.queues,
      ...[
        ...shardQueues(eventsQueue, events.used).slice(1),
        ...shardQueues(deliveriesQueue, deliveries.used).slice(1),
      ].map((name) => ({ ...quorum, name })),
    ],
    bindings: [
      ...(isSpread ? bindings(eventsShards.name, eventsQueue, 0, events.used) : []),
      isSpread ? spread : direct,
      ...(deliveries.used > 1 ? bindings(deliveriesShards.name, deliveriesQueue, 0, deliveries.used) : []),
    ],
    unbindings: [
      ...(isSpread ? [direct] : events.there > 1 ? [spread] : []),
      ...bindings(eventsShards.name, eventsQueue, events.used, events.there),
      ...bindings(deliveriesShards.name, deliveriesQueue, deliveries.used, deliveries.there),
    ],
  };
}

const type = 'x-consistent-hash' as const;

/** Bindings of the queues from one index to another; the pattern is the weight, the same for each. */
function bindings(exchange: string, queue: string, from: number, to: number): Binding[] {
  return shardQueues(queue, Math.max(from, to))
    .slice(from)
    .map((name) => ({ exchange, queue: name, pattern: '1' }));
}
