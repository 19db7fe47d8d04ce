/** A dead letter as clients see it. Its id is a digest of its content. */
import { createHash } from 'node:crypto';
import type { Seen } from '@gatepost/amqp/browse';
import { attributesInHeaders } from '@gatepost/contracts/event-headers';
import { eventGuid } from '@gatepost/contracts/event-identity';
import { deadDetailHeader, deadReasonHeader } from '@gatepost/contracts/topology';
import { z } from 'zod';

export const deadLetterSchema = z
  .object({
    id: z.string(),
    reason: z.string().nullable(),
    detail: z.string().nullable(),
    message_id: z.string().nullable(),
    event: z.string().nullable(),
    subject: z.string().nullable(),
    source: z.string().nullable(),
    occurred_at: z.string().nullable().meta({ description: 'As the producer wrote it' }),
    bytes: z.int(),
  })
  .meta({ id: 'DeadLetter' });

export const wholeLetterSchema = deadLetterSchema
  .extend({
    headers: z.record(z.string(), z.unknown()),
    payload: z.string().meta({ description: 'The body; in base64 if it is not text' }),
    payload_encoding: z.enum(['utf-8', 'base64']),
  })
  .meta({ id: 'DeadLetterDetail' });

export type Letter = z.infer<typeof deadLetterSchema>;

export type WholeLetter = z.infer<typeof wholeLetterSchema>;

/**
 * Headers from publishing it, and counts of how often its queue got it back and, from RabbitMQ 4.3 on, handed it out
 * (https://www.rabbitmq.com/docs/quorum-queues#poison-message-handling): they differ from one look to the next.
 */
export const passingHeaders: ReadonlySet<string> = new Set(['x-publish-tag', 'x-delivery-count', 'x-acquired-count']);

const ownHeaders = ({ headers }: Pick<Seen, 'headers'>) =>
  Object.entries(headers).filter(([name]) => !passingHeaders.has(name));

export function idOf({ body, headers, messageId = '' }: Seen): string {
  const own = ownHeaders({ headers }).sort(([a], [b]) => (a < b ? -1 : 1));
  const digest = createHash('sha256').update(JSON.stringify([messageId, own]));
  return digest.update(body).digest('hex').slice(0, 24);
}

export function presentLetter(message: Seen): Letter {
  const job = jobOf(message);
  const text = (value: unknown) => (typeof value === 'string' ? value : null);
  return {
    id: idOf(message),
    reason: text(message.headers[deadReasonHeader]),
    detail: text(message.headers[deadDetailHeader]),
    message_id: message.messageId ?? null,
    event: attributeOf(message, 'type') ?? text(job?.event),
    subject: attributeOf(message, 'subject') ?? null,
    source: attributeOf(message, 'source') ?? null,
    occurred_at: attributeOf(message, 'time') ?? text(job?.occurredAt),
    bytes: message.body.length,
  };
}

export function presentWhole(message: Seen): WholeLetter {
  const text = message.body.toString('utf8');
  const isText = Buffer.from(text).equals(message.body);
  return {
    ...presentLetter(message),
    headers: Object.fromEntries(ownHeaders(message)),
    payload: isText ? text : message.body.toString('base64'),
    payload_encoding: isText ? 'utf-8' : 'base64',
  };
}

/** The possible guids of its event. Most producers give the guid as the event's id. */
export function guidsOf(message: Seen): string[] {
  const [id, source] = [attributeOf(message, 'id'), attributeOf(message, 'source')];
  const made = id !== undefined && source !== undefined ? eventGuid({ id, source }) : undefined;
  const guids = [message.messageId, id, made, jobOf(message)?.guid];
  return guids.flatMap((guid) => (typeof guid === 'string' ? guid.toLowerCase() : []));
}

export function attributeOf({ headers }: Seen, name: string): string | undefined {
  const value = attributesInHeaders(headers)[name];
  return typeof value === 'string' ? value : undefined;
}

/** What a delivery's job claims, true or not. */
function jobOf({ headers }: Seen): { guid?: unknown; event?: unknown; occurredAt?: unknown } | undefined {
  if (typeof headers.job !== 'string') return undefined;
  try {
    const job: unknown = JSON.parse(headers.job);
    return typeof job === 'object' && job !== null ? job : undefined;
  } catch {
    return undefined;
  }
}
