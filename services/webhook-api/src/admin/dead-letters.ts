/**
 * `/admin/dead-letters`: messages that could not be accepted. They lie in a queue of RabbitMQ, which is looked through from its head: whoever
 * looks holds the first letters for that moment and gives them back, so requests take turns. A letter's id is a digest of what it holds.
 */
import { createHash } from 'node:crypto';
import { browse, type Seen } from '@gatepost/amqp/browse';
import type { DeadReason } from '@gatepost/contracts/dead-reason';
import { type DeliveryJob, openJob } from '@gatepost/contracts/delivery-job';
import { attributesInHeaders, eventGuid } from '@gatepost/contracts/event';
import {
  deadDetailHeader,
  deadEventsQueue,
  deadReasonHeader,
  deliveriesQueue,
  eventsExchange,
} from '@gatepost/contracts/topology';
import { inTransaction } from '@gatepost/runtime/transaction';
import { z } from 'zod';
import { ApiError, notFound, validationFailed } from '../http/errors.ts';
import { tokenOperation } from '../http/operation.ts';
import { offsetOf, pageLinks, pageQuery } from '../http/page.ts';
import type { Parts } from '../parts.ts';
import { makeRecent } from './recent.ts';

/** How far a request looks: a queue that holds more is worked off from its head. */
const lookedMax = 2_000;
/** From when on no further bodies are held; each may have 25 MB. */
const heldMaxBytes = 16_000_000;

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

const wholeSchema = deadLetterSchema
  .extend({
    headers: z.record(z.string(), z.unknown()),
    payload: z.string().meta({ description: 'The body; in base64 if it is no text' }),
    payload_encoding: z.enum(['utf-8', 'base64']),
  })
  .meta({ id: 'DeadLetterDetail' });

type Letter = z.infer<typeof deadLetterSchema>;

export const listDeadLetters = tokenOperation({
  id: 'list-dead-letters',
  summary: 'List dead letters',
  query: pageQuery.extend({ reason: z.string().optional().meta({ description: 'Only those with this reason' }) }),
  answers: {
    200: {
      description: `A page of them, in the order of the queue, whose first ${lookedMax} are looked at`,
      schema: z.array(deadLetterSchema),
    },
  },
  async run({ parts, query, url }) {
    const letters = await look(
      parts,
      (message) => (isWanted(message, { reason: query.reason }) ? present(message) : undefined),
      async (picked) => picked.map(({ item }) => item),
    );
    const offset = offsetOf(query);
    const headers = pageLinks(url, query, letters.length);
    return { status: 200, body: letters.slice(offset, offset + query.per_page), headers };
  },
});

export const getDeadLetter = tokenOperation({
  id: 'get-dead-letter',
  summary: 'Get a dead letter, with headers and payload',
  answers: { 200: { description: 'The letter', schema: wholeSchema } },
  async run({ parts, params }) {
    const whole = await look(
      parts,
      (message) => (idOf(message) === params.letter_id ? presentWhole(message) : undefined),
      async ([first]) => first?.item,
    );
    if (!whole) throw notFound();
    return { status: 200, body: whole };
  },
});

export const publishDeadLetter = tokenOperation({
  id: 'publish-dead-letter',
  summary: 'Publish a dead letter again',
  answers: {
    202: {
      description:
        'It is published as it came, and gone from here. One that was refused for its producer goes out under the API’s own user: publishing it is your word for it',
    },
    422: { description: 'It is neither an event nor a delivery that one of our services made' },
  },
  async run({ parts, params }) {
    const { published, left } = await publishAgain(parts, { ids: [params.letter_id ?? ''] });
    if (published + left === 0) throw notFound();
    if (published === 0)
      throw new ApiError(422, 'This letter is neither an event nor a delivery that one of our services made');
    return { status: 202 };
  },
});

export const dropDeadLetter = tokenOperation({
  id: 'drop-dead-letter',
  summary: 'Drop a dead letter',
  answers: { 204: { description: 'It is gone' } },
  async run({ parts, params }) {
    if ((await drop(parts, { ids: [params.letter_id ?? ''] })) === 0) throw notFound();
    return { status: 204 };
  },
});

/** Which letters are meant: by their ids, by their reason, or all that a request looks at. */
type Wanted = { ids?: string[] | undefined; reason?: string | undefined };

const wantedSchema = z
  .object({
    ids: z.array(z.string()).max(lookedMax).optional(),
    reason: z.string().optional(),
    all: z.boolean().optional().meta({ description: '`true`: without it, ids or a reason must be given' }),
  })
  .meta({ id: 'DeadLetterSelection' });

export const publishDeadLetters = tokenOperation({
  id: 'publish-dead-letters',
  summary: 'Publish several dead letters again',
  body: wantedSchema,
  answers: {
    200: {
      description:
        'How many were published, and how many of those meant are left: neither events nor deliveries of ours, or, with `all` alone, refused for their producer. Naming such letters by id or reason is your word for them: they go out under the API’s own user',
      schema: z.object({ published: z.int(), left: z.int() }),
    },
  },
  async run({ parts, body }) {
    checkWanted(body);
    return { status: 200, body: await publishAgain(parts, body) };
  },
});

export const dropDeadLetters = tokenOperation({
  id: 'drop-dead-letters',
  summary: 'Drop several dead letters',
  query: z.object({
    reason: z.string().optional().meta({ description: 'Those with this reason' }),
    all: z.enum(['true']).optional().meta({ description: 'All of them' }),
  }),
  answers: { 200: { description: 'How many are gone', schema: z.object({ dropped: z.int() }) } },
  async run({ parts, query }) {
    checkWanted({ reason: query.reason, all: query.all === 'true' });
    return { status: 200, body: { dropped: await drop(parts, query) } };
  },
});

/** Nothing given means no letter, not every one. */
function checkWanted({ ids, reason, all }: z.infer<typeof wantedSchema>): void {
  if (ids === undefined && reason === undefined && all !== true)
    throw validationFailed({ resource: 'DeadLetter', code: 'missing_field', field: 'reason' });
}

/** Those of an event, by its guid. */
export function findDeadLetters(parts: Parts, guid: string): Promise<Letter[]> {
  return look(
    parts,
    (message) => (guidsOf(message).includes(guid) ? present(message) : undefined),
    async (picked) => picked.map(({ item }) => item),
  );
}

/** A letter, the guids that its event may have, and the delivery that it was, if one of our services made it. */
export type SeenLetter = { letter: Letter; guids: string[]; job: DeliveryJob | undefined };

const keptMs = 2_000;
const recent = new WeakMap<Parts, () => Promise<SeenLetter[]>>();

/** All letters, as they were seen a moment ago: asked by many, they are looked through by one at a time, with rests between. */
export function recentLetters(parts: Parts): Promise<SeenLetter[]> {
  const ask = recent.get(parts) ?? makeRecent(() => lookAtAll(parts), keptMs);
  recent.set(parts, ask);
  return ask();
}

const lookAtAll = (parts: Parts) =>
  look(
    parts,
    (message): SeenLetter => {
      const opened = message.headers.job === undefined ? undefined : openJob(message, ...parts.jobKeys);
      return {
        letter: present(message),
        guids: guidsOf(message),
        job: opened?.kind === 'job' ? opened.job : undefined,
      };
    },
    async (picked) => picked.map(({ item }) => item),
  );

/** Most producers give it as the event's id. */
function guidsOf(message: Seen): string[] {
  const [id, source] = [attributeOf(message, 'id'), attributeOf(message, 'source')];
  const made = id !== undefined && source !== undefined ? eventGuid({ id, source }) : undefined;
  return [message.messageId, id, made, jobOf(message)?.guid].flatMap((guid) => guid?.toLowerCase() ?? []);
}

async function publishAgain(parts: Parts, wanted: Wanted): Promise<{ published: number; left: number }> {
  for (let published = 0; ; ) {
    const part = await publishPart(parts, wanted);
    published += part.published;
    if (!part.isMore) return { published, left: part.left };
  }
}

/** Publishes as many as may be held at once. */
async function publishPart(parts: Parts, wanted: Wanted) {
  let bytes = 0;
  let left = 0;
  let isMore = false;
  return look(
    parts,
    (message) => {
      if (!isWanted(message, wanted)) return undefined;
      const outgoing = isNamed(message, wanted) ? outgoingOf(message, parts) : undefined;
      if (!outgoing) left += 1;
      else if (bytes > heldMaxBytes) isMore = wanted.ids?.length !== 1;
      else {
        bytes += message.body.length;
        return outgoing;
      }
      return undefined;
    },
    async (picked) => {
      const chosen = once(picked, wanted);
      for (const { item, take } of chosen) {
        await parts.publisher.publish(item);
        take();
      }
      return { published: chosen.length, left, isMore };
    },
  );
}

async function drop(parts: Parts, wanted: Wanted): Promise<number> {
  return look(
    parts,
    (message) => (isWanted(message, wanted) ? idOf(message) : undefined),
    async (picked) => {
      const chosen = once(picked, wanted);
      for (const { take } of chosen) take();
      return chosen.length;
    },
  );
}

/** Of letters that are equal an id means the first. */
function once<T>(picked: T[], { ids }: Wanted): T[] {
  return ids?.length === 1 ? picked.slice(0, 1) : picked;
}

function isWanted(message: Seen, { ids, reason }: Wanted): boolean {
  if (reason !== undefined && message.headers[deadReasonHeader] !== reason) return false;
  return ids === undefined || ids.includes(idOf(message));
}

/**
 * Published again, an event goes out under our own name, past what its producer may publish: so one that was refused for its producer must be
 * meant, by its id or that reason.
 */
function isNamed({ headers }: Seen, { ids, reason }: Wanted): boolean {
  return !refusedProducers.has(headers[deadReasonHeader]) || ids !== undefined || reason !== undefined;
}

const refusedProducers = new Set<unknown>(['producer_unknown', 'producer_not_allowed'] satisfies DeadReason[]);

/** As it came: an event goes to the exchange, and a delivery that one of our services made to its queue. */
function outgoingOf(message: Seen, { jobKeys, amqpUser }: Parts) {
  const headers = Object.fromEntries(Object.entries(message.headers).filter(([name]) => !added.has(name)));
  const { body, contentType, messageId = '' } = message;
  const outgoing = { body, headers, messageId, userId: amqpUser, ...(contentType !== undefined && { contentType }) };
  if (message.headers.job !== undefined) {
    const opened = openJob(message, ...jobKeys);
    return opened.kind === 'job' ? { ...outgoing, exchange: '', routingKey: deliveriesQueue } : undefined;
  }
  const isStructured = contentType?.startsWith('application/cloudevents+json');
  const type = attributeOf(message, 'type') ?? (isStructured ? 'structured' : undefined);
  return type === undefined ? undefined : { ...outgoing, exchange: eventsExchange, routingKey: type };
}

let lastLook: Promise<unknown> = Promise.resolve();

/** Runs by itself, whichever process looks; those of this process wait without a connection to PostgreSQL. */
function look<T, R>(
  { pool, amqpUrl }: Parts,
  pick: (message: Seen) => T | undefined,
  use: (picked: { item: T; take(): void }[]) => Promise<R>,
): Promise<R> {
  const mine = lastLook.then(() =>
    inTransaction(pool, async (client) => {
      await client.query("SELECT pg_advisory_xact_lock(hashtextextended('gatepost dead letters', 0))");
      const options = {
        url: amqpUrl,
        name: 'webhook-api dead letters',
        queue: deadEventsQueue,
        most: lookedMax,
        idleMs: 2_000,
      };
      return browse(options, pick, use);
    }),
  );
  lastLook = mine.catch(() => {}); // who asked hears of it
  return mine;
}

/** Headers that were not the producer's: of the dead letter, of publishing it, and of the queue it lies in. */
const added = new Set([deadReasonHeader, deadDetailHeader, 'x-publish-tag', 'x-delivery-count']);

/** Without those that differ from one look to the next. */
const ownHeaders = ({ headers }: Pick<Seen, 'headers'>) =>
  Object.entries(headers).filter(([name]) => name !== 'x-publish-tag' && name !== 'x-delivery-count');

function idOf({ body, headers, messageId = '' }: Seen): string {
  const own = ownHeaders({ headers }).sort(([a], [b]) => (a < b ? -1 : 1));
  const digest = createHash('sha256').update(JSON.stringify([messageId, own]));
  return digest.update(body).digest('hex').slice(0, 24);
}

function present(message: Seen): Letter {
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

function presentWhole(message: Seen): z.infer<typeof wholeSchema> {
  const text = message.body.toString('utf8');
  const isText = Buffer.from(text).equals(message.body);
  const headers = Object.fromEntries(ownHeaders(message));
  return {
    ...present(message),
    headers,
    payload: isText ? text : message.body.toString('base64'),
    payload_encoding: isText ? 'utf-8' : 'base64',
  };
}

function attributeOf({ headers }: Seen, name: string): string | undefined {
  const value = attributesInHeaders(headers)[name];
  return typeof value === 'string' ? value : undefined;
}

/** What a delivery's job says, true or not. */
function jobOf({ headers }: Seen): { guid?: string; event?: string; occurredAt?: string } | undefined {
  if (typeof headers.job !== 'string') return undefined;
  try {
    const job: unknown = JSON.parse(headers.job);
    return typeof job === 'object' && job !== null ? job : undefined;
  } catch {
    return undefined;
  }
}
