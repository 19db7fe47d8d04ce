/** Takes dead letters out of their queue: to publish them again, or to drop them. */
import type { Seen } from '@gatepost/amqp/browse';
import type { DeadReason } from '@gatepost/contracts/dead-reason';
import { openJob } from '@gatepost/contracts/delivery-job';
import { deadDetailHeader, deadReasonHeader, deliveriesQueue, eventsExchange } from '@gatepost/contracts/topology';
import type { Parts } from '../parts.ts';
import { keptMaxBytes, lookedMax } from './dead-letters.ts';
import { attributeOf, idOf, passingHeaders } from './letter.ts';

/** The letters wanted: by id, by reason, or all that a request looks at. */
type Wanted = { ids?: string[] | undefined; reason?: string | undefined };

export async function publishAgain(parts: Parts, wanted: Wanted): Promise<{ published: number; left: number }> {
  let most = lookedMax;
  for (let published = 0; ; ) {
    const part = await publishPart(parts, wanted, most);
    published += part.published;
    if (!part.isMore) return { published, left: part.left };
    most = part.seen - part.published;
  }
}

/**
 * Publishes as many letters as may be held at once, out of the first `most`. Behind the letters of the first look are those that have come
 * back: they would do so for ever.
 */
async function publishPart(parts: Parts, wanted: Wanted, most: number) {
  let seen = 0;
  let bytes = 0;
  let left = 0;
  let isMore = false;
  return parts.deadLetters.look(
    (message) => {
      if (seen === most) return undefined;
      seen += 1;
      if (!isWanted(message, wanted)) return undefined;
      const outgoing = isNamed(message, wanted) ? outgoingOf(message, parts) : undefined;
      if (!outgoing) left += 1;
      else if (bytes > keptMaxBytes) isMore = wanted.ids?.length !== 1;
      else {
        bytes += message.body.length;
        return outgoing;
      }
      return undefined;
    },
    async (picked) => {
      const chosen = firstIfSingleId(picked, wanted);
      for (const { item, take } of chosen) {
        await parts.publisher.publish(item);
        take();
      }
      return { published: chosen.length, seen, left, isMore };
    },
  );
}

export async function drop(parts: Parts, wanted: Wanted): Promise<number> {
  return parts.deadLetters.look(
    (message) => (isWanted(message, wanted) ? idOf(message) : undefined),
    async (picked) => {
      const chosen = firstIfSingleId(picked, wanted);
      for (const { take } of chosen) take();
      return chosen.length;
    },
  );
}

/** An id means only the first of equal letters. */
function firstIfSingleId<T>(picked: T[], { ids }: Wanted): T[] {
  return ids?.length === 1 ? picked.slice(0, 1) : picked;
}

function isWanted(message: Seen, { ids, reason }: Wanted): boolean {
  if (reason !== undefined && message.headers[deadReasonHeader] !== reason) return false;
  return ids === undefined || ids.includes(idOf(message));
}

/**
 * A republished event goes out under our own name, bypassing its producer's permissions: an event refused for its producer must therefore be
 * asked for explicitly, by its id or that reason.
 */
function isNamed({ headers }: Seen, { ids, reason }: Wanted): boolean {
  return !refusedProducers.has(headers[deadReasonHeader]) || ids !== undefined || reason !== undefined;
}

const refusedProducers = new Set<unknown>(['producer_unknown', 'producer_not_allowed'] satisfies DeadReason[]);

/** An event may have a header `job` of its own, and is refused for other reasons. */
const refusedJobs = new Set<unknown>(['not_a_job', 'job_not_authentic'] satisfies DeadReason[]);

/** In its original form: an event goes to the exchange, and a delivery made by one of our services to its queue. */
function outgoingOf(message: Seen, { jobKeys, amqpUser }: Parts) {
  const headers = Object.fromEntries(Object.entries(message.headers).filter(([name]) => !added.has(name)));
  const { body, contentType, messageId = '' } = message;
  const outgoing = { body, headers, messageId, userId: amqpUser, ...(contentType !== undefined && { contentType }) };
  if (openJob(message, ...jobKeys).kind === 'job') return { ...outgoing, exchange: '', routingKey: deliveriesQueue };
  if (refusedJobs.has(message.headers[deadReasonHeader])) return undefined;
  const isStructured = contentType?.startsWith('application/cloudevents+json');
  const type = attributeOf(message, 'type') ?? (isStructured ? 'structured' : undefined);
  return type === undefined ? undefined : { ...outgoing, exchange: eventsExchange, routingKey: type };
}

/** Headers not from the producer: added to the dead letter, by publishing it, or by the queue that holds it. */
const added = new Set([deadReasonHeader, deadDetailHeader, ...passingHeaders]);
