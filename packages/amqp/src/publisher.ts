/** Publishing with confirms: a publish resolves once the broker has confirmed the message, and not before. */
import type { Trouble } from '@gatepost/runtime/store-errors';
import { type ChannelModel, type ConfirmChannel, IllegalOperationError, type Options } from 'amqplib';
import { type ConnectionOptions, openConnection } from './connection.ts';
import { watchSilence } from './cut-off.ts';
import { lengthOf } from './queue-length.ts';

export type Outgoing = {
  /** '' is the default exchange, whose routing key is a queue's name. */
  exchange: string;
  routingKey: string;
  body: Buffer;
  headers?: Record<string, unknown>;
  contentType?: string;
  /** Shown to operators; also identifies a message that is returned. */
  messageId: string;
  /** As the option of the publisher, for this message. */
  userId?: string;
};

export type Publisher = AsyncDisposable & {
  /**
   * Publishes one persistent message with `mandatory`, and resolves once the broker has confirmed it.
   * @throws NotPublished: no queue took it, no broker is connected, the broker refused it, or it did not answer in time.
   * After any of these but `unroutable` the broker may have it all the same. A message that cannot be written (its headers take
   * 64 KiB or more) is `refused` without being sent.
   */
  publish(message: Outgoing): Promise<void>;
  /** How many messages a queue has ready. Rejects while no broker is connected. `mayBeGone`: none, if there is no such queue any more. */
  waiting(queue: string, options?: { mayBeGone: boolean }): Promise<number>;
  isConnected(): boolean;
};

export class NotPublished extends Error {
  override name = 'NotPublished';
  readonly code: 'unroutable' | 'not_connected' | 'refused' | 'timeout';
  /** With `refused`: this message, or one beside it on the channel, is the cause, and another try would fail the same way. */
  readonly forItself: boolean;
  constructor(code: NotPublished['code'], message: string, options: ErrorOptions & { forItself?: boolean } = {}) {
    super(message, options);
    this.code = code;
    this.forItself = options.forItself ?? false;
  }

  /**
   * A broker that cannot be reached, does not answer, cannot accept the message just now (a nack), or has lost the queue (which is
   * declared again) counts as away. If it closes the channel, or the message cannot be written, the message is the cause.
   */
  get trouble(): Trouble {
    return this.forItself ? 'other' : 'away';
  }
}

type Waiting = { returned: boolean; settle(error?: NotPublished): void };

/** Opens a connection that only publishes, so that a broker short of memory, which blocks publishers, never blocks acks. */
export async function openPublisher(
  options: ConnectionOptions & {
    confirmTimeoutMs?: number;
    /** The `user_id` of every message; RabbitMQ closes the channel if it is not the name of the connection’s user. */
    userId?: string;
  },
): Promise<Publisher> {
  const confirmTimeoutMs = options.confirmTimeoutMs ?? 10_000;
  let channel: ConfirmChannel | undefined;
  let connected: ChannelModel | undefined;
  const waiting = new Map<string, Waiting>();
  let sequence = 0;
  const silence = watchSilence(options.url);

  const open = async (model: ChannelModel) => {
    const opened = await openChannel(model, waiting, (fault) => {
      if (channel !== opened) return;
      channel = undefined;
      for (const entry of [...waiting.values()]) entry.settle(closedBefore(fault));
      // A channel that the broker closed alone would never come back: let the whole connection do so.
      model.close().catch(() => {});
    });
    channel = opened;
  };
  const connection = await openConnection(options, async (model: ChannelModel) => {
    await open(model);
    connected = model;
    silence.begin(model);
  });
  // A channel of RabbitMQ before 3.12 that begins before it knows a queue's new leader asks the dead one for good: it refuses all for
  // that queue until the dead node is back, while a channel that is opened later publishes
  // (https://github.com/rabbitmq/rabbitmq-server/pull/9241).
  const renewChannel = makeRenewal(async () => {
    const [model, retired] = [connected, channel];
    if (!model || !retired) return;
    await open(model);
    setTimeout(() => retired.close().catch(() => {}), confirmTimeoutMs).unref(); // none waits for its confirm then
  });

  return {
    isConnected: () => channel !== undefined && connection.isConnected(),
    publish(message) {
      const current = channel;
      if (!current) return Promise.reject(new NotPublished('not_connected', 'no connection to RabbitMQ'));
      const tag = String(++sequence);
      const publishedAt = performance.now();
      const onLate = () => silence.noConfirmSince(publishedAt);
      const { entry, promise } = waitFor(tag, waiting, { timeoutMs: confirmTimeoutMs, onLate });
      const answered = (error: unknown) => {
        silence.confirmed();
        if (error) {
          if (channel === current) renewChannel();
          return entry.settle(new NotPublished('refused', 'the broker refused the message', { cause: error }));
        }
        // A returned message comes back before its confirm (RabbitMQ's documented order).
        if (!entry.returned) return entry.settle();
        entry.settle(new NotPublished('unroutable', `no queue takes ${message.routingKey || 'it'}`));
        // Somebody deleted a queue of ours: with a new connection it is declared again.
        if (isOurs(message, options.topology) && channel === current) connected?.close().catch(() => {});
      };
      const { exchange, routingKey, body, userId = options.userId } = message;
      try {
        current.publish(exchange, routingKey, body, propertiesOf(message, tag, userId), answered);
      } catch (error) {
        entry.settle(notWritten(error));
      }
      return promise;
    },
    async waiting(queue, { mayBeGone } = { mayBeGone: false }) {
      if (!channel) throw new NotPublished('not_connected', 'no connection to RabbitMQ');
      if (!mayBeGone || !connected) return (await channel.checkQueue(queue)).messageCount;
      return (await within(confirmTimeoutMs, lengthOf(connected, queue))) ?? 0;
    },
    async [Symbol.asyncDispose]() {
      channel = undefined;
      await connection.close();
      for (const entry of [...waiting.values()])
        entry.settle(new NotPublished('not_connected', 'the publisher was closed'));
    },
  };
}

function propertiesOf(message: Outgoing, tag: string, userId: string | undefined): Options.Publish {
  return {
    persistent: true,
    mandatory: true,
    messageId: message.messageId,
    headers: { ...message.headers, [tagHeader]: tag },
    ...(message.contentType === undefined ? {} : { contentType: message.contentType }),
    ...(userId === undefined ? {} : { userId }),
  };
}

/** What a throw of amqplib's means, before anything was sent. */
function notWritten(cause: unknown): NotPublished {
  return cause instanceof IllegalOperationError
    ? new NotPublished('not_connected', 'the channel is closed', { cause })
    : new NotPublished('refused', 'the message cannot be written', { cause, forItself: true });
}

/** Whether it goes to a queue, or to queues behind an exchange, that we declare. */
function isOurs({ exchange, routingKey }: Outgoing, { queues, exchanges }: ConnectionOptions['topology']): boolean {
  return exchange === ''
    ? queues.some(({ name }) => name === routingKey)
    : exchanges.some(({ name, type }) => name === exchange && type === 'x-consistent-hash');
}

/** A channel that marks what comes back, and calls `onClose`, with what was wrong, when it is closed. */
async function openChannel(
  model: ChannelModel,
  waiting: ReadonlyMap<string, Waiting>,
  onClose: (fault: (Error & { code?: number }) | undefined) => void,
): Promise<ConfirmChannel> {
  const opened = await model.createConfirmChannel();
  let fault: (Error & { code?: number }) | undefined;
  opened.on('error', (error) => {
    fault = error; // 'close' follows
  });
  opened.on('return', (message) => {
    const tag = message.properties.headers?.[tagHeader] as string | undefined;
    const entry = tag === undefined ? undefined : waiting.get(tag);
    if (entry) entry.returned = true;
  });
  // Before amqplib’s own listener, which passes every callback a nack, whatever the cause.
  opened.prependListener('close', () => onClose(fault));
  return opened;
}

/** Waits for a message's confirm, for so long at most. */
function waitFor(
  tag: string,
  waiting: Map<string, Waiting>,
  { timeoutMs, onLate }: { timeoutMs: number; onLate: () => void },
) {
  // Not Promise.withResolvers, which Node 20 lacks: producers run there.
  let resolve!: () => void;
  let reject!: (error: NotPublished) => void;
  const promise = new Promise<void>((...both) => {
    [resolve, reject] = both;
  });
  const timer = setTimeout(() => {
    entry.settle(new NotPublished('timeout', `no confirm in ${timeoutMs} ms`));
    onLate();
  }, timeoutMs);
  const entry: Waiting = {
    returned: false,
    settle(error) {
      clearTimeout(timer);
      if (!waiting.delete(tag)) return;
      if (error) reject(error);
      else resolve();
    },
  };
  waiting.set(tag, entry);
  return { entry, promise };
}

/** Not every call of a connection that breaks settles. */
async function within<T>(ms: number, answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new NotPublished('timeout', `no answer in ${ms} ms`)), ms);
  });
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}

const renewal = { firstMs: 250, mostMs: 10_000, calmMs: 30_000 };

/** Renews a moment after it is called for, and ever more seldom as long as that goes on: a queue may be full, and refuse whatever the channel. */
function makeRenewal(renew: () => Promise<void>): () => void {
  let pauseMs = renewal.firstMs;
  let calledAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  return () => {
    const now = performance.now();
    if (now - calledAt > renewal.calmMs) pauseMs = renewal.firstMs;
    calledAt = now;
    if (timer) return;
    timer = setTimeout(() => {
      timer = undefined;
      renew().catch(() => {}); // the connection is lost, and the next has a channel of its own
    }, pauseMs).unref();
    pauseMs = Math.min(pauseMs * 2, renewal.mostMs);
  };
}

const tagHeader = 'x-publish-tag';
const notFound = 404;

/** What a channel closed by the broker means for publishes without a confirm; `fault` is the broker’s reason, if it gave one. */
function closedBefore(fault: (Error & { code?: number }) | undefined): NotPublished {
  if (!fault) return new NotPublished('not_connected', 'the connection was lost before the confirm');
  if (fault.code === notFound) return new NotPublished('unroutable', 'there is no such exchange', { cause: fault });
  return new NotPublished('refused', 'the broker closed the channel before the confirm', {
    cause: fault,
    forItself: true,
  });
}
