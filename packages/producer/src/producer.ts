/** Publishing events to Gatepost: each publish resolves once the broker has the event, not before. */
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { userOf } from '@gatepost/amqp/brokers';
import { NotPublished, openPublisher, type Publisher } from '@gatepost/amqp/publisher';
import { eventsExchange } from '@gatepost/contracts/topology';
import { type PreparedMessage, prepare } from './message.ts';
import type { NewEvent } from './new-event.ts';
import { PublishError } from './publish-error.ts';

export type { DeadReason } from '@gatepost/contracts/dead-reason';
export type { NewEvent } from './new-event.ts';
export type { PublishErrorCode } from './publish-error.ts';
export { PublishError };

export type ProducerOptions = {
  /** `amqp://user:password@host:port/vhost`. The user needs write permission for the exchange `gatepost.events`, nothing else. */
  url: string;
  /** URI of this producer: the `source` of all its events. */
  source: string;
  /**
   * The `user_id` of its messages, which tells the dispatcher for whom it may publish. RabbitMQ refuses any name but that of the connection's
   * user. Default: the user of the URL; null: none, for a broker that identifies users differently (OAuth 2, say).
   */
  userId?: string | null;
  /** Shown in RabbitMQ's list of connections. Default `gatepost producer`. */
  name?: string;
  /** No further try of a `publish` begins after this; a confirm may be waited for 10 s more. Default 30 s. */
  timeoutMs?: number;
  /**
   * The most that may be in flight; beyond that, `publish` fails with `busy`. Default 1000 events and 64 MB of payload; a single event is
   * always allowed. The same limits apply to what is written and not confirmed, also after its `publish` has failed: tries beyond them fail
   * with `timeout`.
   */
  maxInFlight?: number;
  maxInFlightBytes?: number;
  /** Where lost and restored connections are logged; a pino logger fits. Default: nowhere. */
  log?: Record<'info' | 'warn' | 'error', (fields: object, message: string) => void>;
};

export type Published = {
  id: string;
  /** The value of `X-GitHub-Delivery` in all deliveries of this event. */
  guid: string;
};

export type Producer = {
  /**
   * Checks the event, publishes it as a persistent message, and resolves when the broker has confirmed it. If the connection breaks
   * meanwhile, the event is published again with the same id, so that it is still delivered once. Concurrent events are in flight together;
   * their order is kept while the connection lasts.
   * @throws PublishError
   */
  publish(event: NewEvent): Promise<Published>;
  isConnected(): boolean;
  /** Accepts no further events, waits for the confirms of those in flight, and closes the connection. May be called again. */
  close(): Promise<void>;
  /** The same, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
};

const silent = { info() {}, warn() {}, error() {} };
const confirmTimeoutMs = 10_000;
/** A broker that does not answer is given up on after 10 s: time enough for another node. */
const openTimeoutMs = 20_000;
const firstWaitMs = 50;
const maxWaitMs = 1_000;
const maxRefusals = 3;

/**
 * Connects, and from then on reconnects by itself.
 * @throws PublishError `not_connected` when the first connection cannot be made in six tries, which take some three seconds, and 20 s at most where
 *   the broker does not answer.
 */
export async function openProducer(options: ProducerOptions): Promise<Producer> {
  const {
    timeoutMs = 30_000,
    userId = userOf(options.url),
    maxInFlight = 1_000,
    maxInFlightBytes = 64 * 1024 * 1024,
  } = options;
  const publisher = await openPublisher({
    url: options.url,
    name: options.name ?? 'gatepost producer',
    log: options.log ?? silent,
    // The dispatcher declares the exchange that events are published to.
    topology: { exchanges: [], queues: [], bindings: [] },
    initialTimeoutMs: openTimeoutMs,
    confirmTimeoutMs: Math.min(confirmTimeoutMs, timeoutMs),
    // Each try leaves a copy in memory while the broker reads nothing.
    unconfirmedMax: { messages: maxInFlight, bytes: maxInFlightBytes },
    ...(userId === null ? {} : { userId }),
  }).catch((cause: Error & { code?: unknown }) => {
    // Node's own message is empty where it tried several addresses.
    const why = cause.message || String(cause.code);
    throw new PublishError('not_connected', '', `no connection to RabbitMQ: ${why}`, { cause });
  });
  const inFlight = new Set<Promise<unknown>>();
  let bytesInFlight = 0;
  const closing = new AbortController();
  let closed: Promise<void> | undefined;
  const close = () => {
    closing.abort();
    closed ??= Promise.allSettled(inFlight).then(() => publisher[Symbol.asyncDispose]());
    return closed;
  };

  return {
    isConnected: () => publisher.isConnected(),
    async publish(event) {
      const id = event.id ?? randomUUID();
      if (closing.signal.aborted) throw new PublishError('closed', id, 'the producer is closed');
      if (inFlight.size >= maxInFlight)
        throw new PublishError('busy', id, `${inFlight.size} events are on their way already`);
      const prepared = prepare(event, id, options.source);
      if (prepared.kind === 'invalid')
        throw new PublishError('invalid', id, prepared.detail, { reason: prepared.reason });
      const bytes = prepared.message.body.length;
      if (inFlight.size > 0 && bytesInFlight + bytes > maxInFlightBytes)
        throw new PublishError('busy', id, `${bytesInFlight} bytes are on their way already`);
      const sending = send(publisher, prepared.message, id, performance.now() + timeoutMs, closing.signal);
      inFlight.add(sending);
      bytesInFlight += bytes;
      try {
        await sending;
      } finally {
        inFlight.delete(sending);
        bytesInFlight -= bytes;
      }
      return { id, guid: prepared.guid };
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Tries until the broker confirms, another try cannot help, or the deadline has passed. */
async function send(
  publisher: Publisher,
  message: PreparedMessage,
  id: string,
  deadline: number,
  closing: AbortSignal,
): Promise<void> {
  let refusals = 0;
  for (let tries = 0; ; tries += 1) {
    const failure = await tryOnce(publisher, message, id);
    if (!failure) return;
    if (failure.code === 'unroutable') throw explain(failure, id);
    // The broker may have closed the channel because of somebody else's message.
    if (failure.code === 'refused' && ++refusals >= maxRefusals) throw explain(failure, id);
    const waitMs = Math.min(maxWaitMs, firstWaitMs * 2 ** tries) * (0.75 + Math.random() / 2);
    if (closing.aborted || performance.now() + waitMs > deadline) throw explain(failure, id);
    await wait(waitMs, undefined, { signal: closing }).catch(() => {}); // closed: one last try
  }
}

async function tryOnce(publisher: Publisher, message: PreparedMessage, id: string): Promise<NotPublished | undefined> {
  try {
    await publisher.publish({
      exchange: eventsExchange,
      routingKey: message.type,
      body: message.body,
      headers: message.headers,
      contentType: message.contentType,
      messageId: id,
    });
    return undefined;
  } catch (error) {
    if (error instanceof NotPublished) return error;
    throw error;
  }
}

function explain(failure: NotPublished, id: string): PublishError {
  if (failure.code !== 'unroutable') return new PublishError(failure.code, id, failure.message, { cause: failure });
  const message = `${failure.message}: has a dispatcher ever run on this broker and vhost?`;
  return new PublishError('unroutable', id, message, { cause: failure });
}
