/** Consuming: messages are handed out up to the prefetch, and their holder settles each exactly once. */
import type { Channel, ChannelModel, ConsumeMessage } from 'amqplib';
import { type Acks, makeAcks } from './acks.ts';
import { type ConnectionOptions, openConnection } from './connection.ts';
import { hasOthers, leaveWhenCutOff } from './cut-off.ts';
import { exists } from './find-shards.ts';

export type Incoming = {
  body: Buffer;
  headers: Record<string, unknown>;
  contentType: string | undefined;
  routingKey: string;
  messageId: string | undefined;
  /** The user who published it, if it says so; RabbitMQ accepts no other user's name there. */
  userId: string | undefined;
  /** Someone has had this message before and did not settle it: what follows from it may have happened already. */
  redelivered: boolean;
  /** The span in which it is handled, while its holder traces; set by that. */
  traceparent?: string;
  /** The account that it names, null for none; set by whoever has looked, so that nobody looks twice. */
  account?: string | null;
  /** Takes the message off the queue. After a lost connection it does nothing: the broker will hand the message out again. */
  ack(): void;
  /** Gives the message back at once; quorum queues count it. Keeping a reference to this function does not keep the body in memory. */
  giveBack(): void;
  /** The connection that it came by is gone: the broker hands it out again, to us or to others. */
  isLost(): boolean;
};

export type Consumer = AsyncDisposable & {
  /** Begins, if the consumer was opened on standby, with this prefetch. */
  begin(prefetch: number): Promise<void>;
  /** Stops taking messages; those in hand can still be settled. */
  pause(): Promise<void>;
  isConnected(): boolean;
};

/** With nothing to take for so long, a consumer asks whether its node is cut off from the others, and waits so long for an answer. */
const cutOff = { quietMs: 10_000, answerMs: 15_000 };

/** How long to wait, after large messages have reduced the prefetch, before trying the full prefetch again. */
const widenAfterMs = 10_000;

/**
 * Consumes a queue, at most `prefetch` messages in hand. `onMessage` must not throw; it settles each message itself, sooner or
 * later. A consumer that the broker cancels (queue deleted, node down) connects anew and declares the topology again. On `standby`
 * it is connected, which takes a busy broker seconds, and takes nothing before `begin`. A node that is cut off from the others is left.
 *
 * With `maxBytes`, and more than that in hand, it stops taking, gives back what still comes, and begins again with a prefetch that
 * fits such messages once half of it is settled: a prefetch alone counts messages, of whatever size.
 */
export async function openConsumer(
  options: ConnectionOptions & {
    /** Of several, each hands out up to the prefetch by itself, so that none waits for another. */
    queue: string | readonly string[];
    /** Further queues, consumed as long as they are there. */
    leftover?: readonly string[];
    prefetch: number;
    standby?: boolean;
    maxBytes?: number;
    /** For tests. */
    cutOff?: typeof cutOff;
    onMessage: (message: Incoming) => void;
  },
): Promise<Consumer> {
  let paused = false;
  let begun = !options.standby;
  let current: { channel: Channel; acks: Acks; consumerTags: string[] } | undefined;
  /** Consumes on the channel of the connection that there is now. */
  let consume: (() => Promise<void>) | undefined;
  const cancel = () => {
    // A connection lost just now has no consumer to cancel.
    const { channel, consumerTags = [] } = current ?? {};
    return Promise.all(consumerTags.map((tag) => channel?.cancel(tag).catch(() => {})));
  };
  const allowance = makeAllowance(options.prefetch, options.maxBytes, {
    stop: cancel,
    start: () => consume?.().catch(() => {}), // the channel is closed: the next connection consumes
  });
  const standard = [options.queue].flat();
  let hasCome = false;
  const cameSince = () => {
    const came = hasCome;
    hasCome = false;
    return came;
  };

  const connection = await openConnection(options, async (model: ChannelModel) => {
    if (hasOthers(options.url)) leaveWhenCutOff(model, { ...(options.cutOff ?? cutOff), hasCome: cameSince });
    const leftover = await Promise.all(
      (options.leftover ?? []).map(async (queue) => ((await exists(model, queue)) ? [queue] : [])),
    );
    const queues = [...standard, ...leftover.flat()];
    const channel = await model.createChannel();
    const acks = makeAcks(channel);
    const startAnew = () => {
      if (current?.channel !== channel) return;
      current = undefined;
      model.close().catch(() => {});
    };
    channel.on('error', (error) =>
      options.log.error({ 'amqp.queue': options.queue, error }, 'RabbitMQ closed the channel'),
    );
    let isOpen = true;
    channel.on('close', () => {
      isOpen = false;
      startAnew();
    });
    const onMessage = (message: ConsumeMessage | null) => {
      if (message === null) {
        options.log.warn({ 'amqp.queue': options.queue }, 'RabbitMQ cancelled the consumer, starting anew');
        return startAnew();
      }
      hasCome = true;
      const { deliveryTag } = message.fields;
      acks.took(deliveryTag);
      if (paused || allowance.isUsedUp()) return acks.giveBack(deliveryTag);
      const { length } = message.content;
      const onSettled = () => allowance.settled(length);
      options.onMessage({ ...incoming(acks, message, onSettled), isLost: () => !isOpen });
      allowance.took(length, queues.length);
    };
    consume = async () => {
      if (paused || allowance.isUsedUp()) return;
      await channel.prefetch(allowance.prefetch());
      const began = await Promise.all(queues.map((queue) => channel.consume(queue, onMessage)));
      current = { channel, acks, consumerTags: began.map(({ consumerTag }) => consumerTag) };
      if (allowance.isUsedUp()) void cancel();
    };
    if (begun) await consume();
  });

  return {
    async begin(most) {
      if (begun) return;
      begun = true;
      allowance.begin(most);
      await consume?.();
    },
    isConnected: () => connection.isConnected() && current !== undefined,
    async pause() {
      paused = true;
      await cancel();
    },
    async [Symbol.asyncDispose]() {
      paused = true;
      const { channel, acks } = current ?? {};
      current = undefined;
      acks?.flush();
      // Acks are written without waiting; closing the channel waits until the broker has read them.
      await channel?.close().catch(() => {});
      await connection.close();
    },
  };
}

/**
 * How much may be in hand: `full` messages, and not many more bytes than `maxBytes`. With those it stops taking, and starts again, with a prefetch
 * that fits such messages, once half of them is settled. Later it tries the full prefetch again.
 */
function makeAllowance(
  full: number,
  maxBytes = Number.POSITIVE_INFINITY,
  taking: { stop(): unknown; start(): unknown },
) {
  let prefetch = full;
  let bytes = 0;
  let isUsedUp = false;
  let widening: NodeJS.Timeout | undefined;
  const widen = () => {
    if (isUsedUp) return;
    prefetch = full;
    taking.stop();
    taking.start();
  };
  return {
    prefetch: () => prefetch,
    isUsedUp: () => isUsedUp,
    begin(most: number): void {
      full = most;
      prefetch = most;
    },
    /** One message of that size, from one of so many queues. */
    took(length: number, queues: number): void {
      bytes += length;
      if (bytes <= maxBytes) return;
      isUsedUp = true;
      prefetch = Math.max(1, Math.min(prefetch, Math.floor(maxBytes / length / queues)));
      taking.stop();
    },
    settled(length: number): void {
      bytes -= length;
      if (!isUsedUp || bytes > maxBytes / 2) return;
      isUsedUp = false;
      taking.start();
      clearTimeout(widening);
      widening = setTimeout(widen, widenAfterMs).unref();
    },
  };
}

function incoming(acks: Acks, message: ConsumeMessage, onSettled: () => void): Omit<Incoming, 'isLost'> {
  const settling = settlingOf(acks, message.fields.deliveryTag, onSettled);
  return {
    body: message.content,
    headers: message.properties.headers ?? {},
    contentType: message.properties.contentType as string | undefined,
    routingKey: message.fields.routingKey,
    messageId: message.properties.messageId as string | undefined,
    userId: message.properties.userId as string | undefined,
    redelivered: message.fields.redelivered,
    ...settling,
  };
}

/** Apart from the message, so that these functions hold on to its tag alone. */
function settlingOf(acks: Acks, deliveryTag: number, onSettled: () => void): Pick<Incoming, 'ack' | 'giveBack'> {
  let settled = false;
  const settle = (how: (deliveryTag: number) => void) => {
    if (settled) throw new Error('a message is settled once');
    settled = true;
    how(deliveryTag);
    onSettled();
  };
  return { ack: () => settle(acks.ack), giveBack: () => settle(acks.giveBack) };
}
