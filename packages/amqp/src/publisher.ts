/** Publishing with confirms: a publish resolves once the broker has confirmed the message, not before. */
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
  /** Shown to operators; also identifies returned messages. */
  messageId: string;
  /** Overrides the publisher's option for this message. */
  userId?: string;
};

export type Publisher = AsyncDisposable & {
  /**
   * Publishes one persistent message with `mandatory`, and resolves once the broker has confirmed it.
   * @throws NotPublished: no queue took it, no broker is connected, the broker refused it, or it did not answer in time. During an alarm of the
   * broker nothing is written: a message waits for its end, up to the same time (see also `outlastsAlarmsUntil`).
   * Except after `unroutable`, the broker may have it all the same. A message that cannot be written (its headers take 64 KiB or more) is
   * `refused` without being sent.
   */
  publish(message: Outgoing): Promise<void>;
  /** How many messages a queue has ready. Rejects while no broker is connected, or in an alarm. `mayBeGone`: 0 if the queue no longer exists. */
  waiting(queue: string, options?: { mayBeGone: boolean }): Promise<number>;
  /** Whether it can publish now: a broker with an alarm for memory or disk keeps the connection and reads nothing. */
  isConnected(): boolean;
};

export class NotPublished extends Error {
  override name = 'NotPublished';
  readonly code: 'unroutable' | 'not_connected' | 'refused' | 'timeout';
  /** For `refused`: this message, or one beside it on the channel, is the cause, and another try would fail the same way. */
  readonly forItself: boolean;
  constructor(code: NotPublished['code'], message: string, options: ErrorOptions & { forItself?: boolean } = {}) {
    super(message, options);
    this.code = code;
    this.forItself = options.forItself ?? false;
  }

  /**
   * A broker counts as away if it cannot be reached, does not answer, cannot accept the message at the moment (a nack), or has lost the queue
   * (which is declared again). If it closes the channel, or the message cannot be written, the message is the cause.
   */
  get trouble(): Trouble {
    return this.forItself ? 'other' : 'away';
  }
}

type Waiting = {
  isWritten: boolean;
  returned: boolean;
  settle(error?: NotPublished): void;
  /** Gives it all of its time again. */
  restartTimer(): void;
  stopTimer(): void;
};

/** Opens a connection for publishing only, so that a broker short of memory, which blocks publishers, never blocks acks. */
export async function openPublisher(
  options: ConnectionOptions & {
    confirmTimeoutMs?: number;
    /** The `user_id` of every message; RabbitMQ closes the channel if it differs from the connection’s user. */
    userId?: string;
    /**
     * The most that may be written without a confirm; what is beyond it waits. What is written stays in memory, whoever still waits for it,
     * while the broker reads nothing. Default: 10,000 messages and 64 MiB.
     */
    unconfirmedMax?: { messages: number; bytes: number };
    /**
     * For callers who publish again what is not confirmed: until this signal, what an alarm of the broker found written does not run out of time
     * before its end. The broker has it then, and a second copy would be one too many.
     */
    outlastsAlarmsUntil?: AbortSignal;
  },
): Promise<Publisher> {
  const confirmTimeoutMs = options.confirmTimeoutMs ?? 10_000;
  let channel: ConfirmChannel | undefined;
  let connected: ChannelModel | undefined;
  const waiting = new Map<string, Waiting>();
  /** What is written on the current connection; what an earlier one had ended with it. */
  let unconfirmed = { messages: 0, bytes: 0 };
  const { unconfirmedMax: most = { messages: 10_000, bytes: 64 * 1024 * 1024 } } = options;
  /** What may not be written yet, in order; if its time runs out first, it never is. */
  const held = new Map<string, { length: number; write(): void }>();
  let sequence = 0;
  const silence = watchSilence(options.url);
  const { outlastsAlarmsUntil: stopping = AbortSignal.abort() } = options;
  const onBlocked = () => {
    if (!stopping.aborted) for (const entry of waiting.values()) if (entry.isWritten) entry.stopTimer();
  };
  const restartTimers = () => {
    for (const entry of waiting.values()) entry.restartTimer();
  };
  stopping.addEventListener('abort', restartTimers);
  const mayWrite = (length: number) =>
    !silence.isBlocked() &&
    unconfirmed.messages < most.messages &&
    (unconfirmed.messages === 0 || unconfirmed.bytes + length <= most.bytes);
  const writeHeld = () => {
    for (const [tag, { length, write }] of held) {
      if (!channel || !mayWrite(length)) return;
      held.delete(tag);
      if (waiting.has(tag)) write();
    }
  };

  const open = async (model: ChannelModel) => {
    const opened = await openChannel(model, waiting, (fault) => {
      if (channel !== opened) return;
      channel = undefined;
      for (const entry of [...waiting.values()]) entry.settle(closedBefore(fault));
      // A channel closed by the broker would not come back by itself: reconnect instead.
      model.close().catch(() => {});
    });
    channel = opened;
  };
  const connection = await openConnection(options, async (model: ChannelModel) => {
    unconfirmed = { messages: 0, bytes: 0 };
    await open(model);
    connected = model;
    silence.begin(model);
    model.on('blocked', onBlocked);
    model.on('unblocked', () => {
      if (!stopping.aborted) restartTimers();
      writeHeld();
    });
    writeHeld(); // what was published since `open` still heeded an alarm of the connection before
  });
  // Before RabbitMQ 3.12, a channel opened before it knows a queue's new leader keeps asking the dead one: it refuses everything for that
  // queue until the dead node is back, while a channel opened later can publish
  // (https://github.com/rabbitmq/rabbitmq-server/pull/9241).
  const renewChannel = makeRenewal(async () => {
    const [model, retired] = [connected, channel];
    if (!model || !retired) return;
    await open(model);
    setTimeout(() => retired.close().catch(() => {}), confirmTimeoutMs).unref(); // by then nobody waits for its confirms
  });

  return {
    isConnected: () => channel !== undefined && connection.isConnected() && !silence.isBlocked(),
    publish(message) {
      if (!channel) return Promise.reject(new NotPublished('not_connected', 'no connection to RabbitMQ'));
      const { length } = message.body;
      const tag = String(++sequence);
      const publishedAt = performance.now();
      const onLate = () => silence.noConfirmSince(publishedAt);
      const { entry, promise } = waitFor(tag, waiting, { timeoutMs: confirmTimeoutMs, onLate });
      const write = () => {
        const current = channel!;
        const written = unconfirmed;
        const answered = (error: unknown) => {
          silence.confirmed();
          written.messages -= 1;
          written.bytes -= length;
          if (held.size > 0) writeHeld();
          if (error) {
            if (channel === current) renewChannel();
            return entry.settle(new NotPublished('refused', 'the broker refused the message', { cause: error }));
          }
          // A returned message arrives before its confirm (RabbitMQ's documented order).
          if (!entry.returned) return entry.settle();
          entry.settle(new NotPublished('unroutable', `no queue takes ${message.routingKey || 'it'}`));
          // Somebody deleted one of our queues: reconnecting declares it again.
          if (isOurs(message, options.topology) && channel === current) connected?.close().catch(() => {});
        };
        const { exchange, routingKey, body, userId = options.userId } = message;
        try {
          current.publish(exchange, routingKey, body, propertiesOf(message, tag, userId), answered);
          entry.isWritten = true;
          written.messages += 1;
          written.bytes += length;
        } catch (error) {
          entry.settle(notWritten(error));
        }
      };
      if (held.size === 0 && mayWrite(length)) write();
      else {
        held.set(tag, { length, write });
        promise.catch(() => held.delete(tag));
      }
      return promise;
    },
    async waiting(queue, { mayBeGone } = { mayBeGone: false }) {
      if (!channel) throw new NotPublished('not_connected', 'no connection to RabbitMQ');
      if (silence.isBlocked())
        throw new NotPublished('timeout', 'RabbitMQ reads nothing: it is short of memory or disk');
      if (!mayBeGone || !connected) return (await within(confirmTimeoutMs, channel.checkQueue(queue))).messageCount;
      return (await within(confirmTimeoutMs, lengthOf(connected, queue))) ?? 0;
    },
    async [Symbol.asyncDispose]() {
      stopping.removeEventListener('abort', restartTimers);
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

/** What amqplib throws before anything was sent. */
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

/** A channel that marks returned messages, and calls `onClose` with the fault when it closes. */
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
  // Runs before amqplib’s own listener, which passes every callback a nack, whatever the cause.
  opened.prependListener('close', () => onClose(fault));
  return opened;
}

/** Waits for a message's confirm, up to a time limit. */
function waitFor(
  tag: string,
  waiting: Map<string, Waiting>,
  { timeoutMs, onLate }: { timeoutMs: number; onLate: () => void },
) {
  // Not Promise.withResolvers, which is missing from Node 20, where producers run.
  let resolve!: () => void;
  let reject!: (error: NotPublished) => void;
  const promise = new Promise<void>((...both) => {
    [resolve, reject] = both;
  });
  let timer: NodeJS.Timeout | undefined;
  const entry: Waiting = {
    isWritten: false,
    returned: false,
    restartTimer() {
      clearTimeout(timer);
      timer = setTimeout(() => {
        entry.settle(new NotPublished('timeout', `no confirm in ${timeoutMs} ms`));
        onLate();
      }, timeoutMs);
    },
    stopTimer: () => clearTimeout(timer),
    settle(error) {
      clearTimeout(timer);
      if (!waiting.delete(tag)) return;
      if (error) reject(error);
      else resolve();
    },
  };
  entry.restartTimer();
  waiting.set(tag, entry);
  return { entry, promise };
}

/** Needed because not every call on a breaking connection settles, and an alarm of the broker holds up any on a connection that publishes. */
export async function within<T>(ms: number, answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new NotPublished('timeout', `no answer in ${ms} ms`)), ms);
  });
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}

const renewal = { firstMs: 250, mostMs: 10_000, calmMs: 30_000 };

/** Renews a moment after being called, ever less often while calls continue: a full queue refuses messages on any channel. */
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

/** What a channel closed by the broker means for unconfirmed messages; `fault` is the broker’s reason, if it gave one. */
function closedBefore(fault: (Error & { code?: number }) | undefined): NotPublished {
  if (!fault) return new NotPublished('not_connected', 'the connection was lost before the confirm');
  if (fault.code === notFound) return new NotPublished('unroutable', 'there is no such exchange', { cause: fault });
  return new NotPublished('refused', 'the broker closed the channel before the confirm', {
    cause: fault,
    forItself: true,
  });
}
