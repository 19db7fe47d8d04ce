/** Events waiting to be routed, in all shards of their queue. Looking holds the first messages of each for a moment, then gives them back. */
import { browse, type Seen } from '@gatepost/amqp/browse';
import { findShards } from '@gatepost/amqp/find-shards';
import { parseEvent } from '@gatepost/contracts/event';
import { attributesInHeaders } from '@gatepost/contracts/event-headers';
import { eventGuid, subjectOf } from '@gatepost/contracts/event-identity';
import { shardQueues } from '@gatepost/contracts/shards';
import { eventsQueue } from '@gatepost/contracts/topology';
import { z } from 'zod';
import type { Parts } from '../parts.ts';

export const queuedSchema = z
  .object({
    queue: z.string(),
    source: z.string(),
    id: z.string(),
    event: z.string().nullable(),
    subject: z.string().nullable(),
    bytes: z.int(),
  })
  .meta({ id: 'QueuedEvent' });

type Queued = z.infer<typeof queuedSchema>;

const lookedMax = 2_000;
/** A structured message identifies itself in its body, which is read up to this size. */
const readMaxBytes = 1_000_000;

export async function findQueued(
  { amqpUrl, storeTimeoutMs }: Pick<Parts, 'amqpUrl' | 'storeTimeoutMs'>,
  guid: string,
): Promise<Queued[]> {
  const { events } = await findShards(amqpUrl, { events: 1, deliveries: 1 });
  const found: Queued[] = [];
  for (const queue of shardQueues(eventsQueue, events.there)) {
    const patience = { timeoutMs: storeTimeoutMs * 0.75, idleMs: storeTimeoutMs / 8 };
    const options = { url: amqpUrl, name: 'webhook-api queued events', queue, most: lookedMax, ...patience };
    const pick = (message: Seen) => {
      const event = readEvent(message);
      return event && eventGuid(event) === guid ? { queue, ...event, bytes: message.body.length } : undefined;
    };
    found.push(...(await browse(options, pick, async (picked) => picked.map(({ item }) => item))));
  }
  return found;
}

/** How a message identifies itself, whether or not it could be routed. */
function readEvent(message: Seen): Omit<Queued, 'queue' | 'bytes'> | undefined {
  const { id, source, type, subject } = attributesInHeaders(message.headers);
  const text = (value: unknown) => (typeof value === 'string' ? value : null);
  if (typeof id === 'string' && typeof source === 'string')
    return { source, id, event: text(type), subject: text(subject) };
  if (message.body.length > readMaxBytes) return undefined;
  const parsed = parseEvent(message);
  if (parsed.kind !== 'event') return undefined;
  const { event } = parsed;
  return { source: event.source, id: event.id, event: event.type, subject: subjectOf(event) };
}
