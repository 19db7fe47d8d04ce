/** Consuming: hands out messages up to the prefetch; their holder settles each exactly once. */
import { makeInTurn } from '@gatepost/runtime/in-turn';
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
  /** The user who published it, if stated; RabbitMQ rejects any other user's name there. */
  userId: string | undefined;
  /** It was delivered before and not settled: its effects may have happened already. */
  redelivered: boolean;
  /** The span that handles it, set by its holder when tracing. */
  traceparent?: string;
  /** The account that it names, null for none; cached by the first reader. */
  account?: string | null;
  /** Takes the message off the queue. Does nothing after a lost connection: the broker will redeliver the message. */
  ack(): void;
  /** Gives the message back at once; quorum queues count it. Holding a reference to this function does not keep the body in memory. */
  giveBack(): void;
  /** The connection that brought it is gone: the broker will redeliver it, to us or to others. */
  isLost(): boolean;
};

export type Consumer = AsyncDisposable & {
  /** Begins with this prefetch, if the consumer was opened on standby. */
  begin(prefetch: number): Promise<void>;
  /** Stops taking messages; those in hand can still be settled. */
  pause(): Promise<void>;
  isConnected(): boolean;
};

/** After this long without a message, a consumer asks whether its node is cut off from the others, and waits this long for an answer. */
const cutOff = { quietMs: 10_000, answerMs: 15_000 };

/** How long to wait, after large messages have reduced the prefetch, before trying the full prefetch again. */
const widenAfterMs = 10_000;

/**
 * Consumes a queue, with at most `prefetch` messages in hand. `onMessage` must not throw; it settles each message itself, sooner or later. A
 * consumer that the broker cancels (queue deleted, node down) reconnects and declares the topology again. On `standby` it connects, which
 * takes seconds on a busy broker, and takes nothing before `begin`. It leaves a node that is cut off from the others.
 *
 * With `maxBytes`, and more than that in hand, it stops taking, gives back what still arrives, and resumes once half of it is settled, with a
 * prefetch that suits such messages: a prefetch alone counts messages, whatever their size.
 */
export async function openConsumer(
  options: ConnectionOptions & {
    /** With several queues, the prefetch applies to each separately, so that none waits for another. */
    queue: string | readonly string[];
    /** Further queues, consumed for as long as they exist. */
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
  let current: { channel: Channel; acks: Acks } | undefined;
  /** On the newest connection's channel. Not every call on a channel that closes settles. */
  let taking: { start(): Promise<void>; stop(): Promise<void>; closed: Promise<void> } | undefined;
  const allowance = makeAllowance(options.prefetch, options.maxBytes, {
    // When these fail, the channel is closed: nothing consumes there, and the next connection begins anew.
    stop: () => taking?.stop().catch(() => {}),
    start: () => taking?.start().catch(() => {}),
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
    const closed = new Promise<void>((resolve) => {
      channel.on('close', () => {
        isOpen = false;
        resolve();
        startAnew();
      });
    });
    // Of two starts at once, the tags of one would be lost, and its consumers never cancelled.
    const inTurn = makeInTurn();
    const onMessage = (message: ConsumeMessage | null) => {
      if (message === null) {
        options.log.warn({ 'amqp.queue': options.queue }, 'RabbitMQ cancelled the consumer, starting it again');
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
    let consumerTags: string[] = [];
    const start = async () => {
      if (paused || allowance.isUsedUp() || consumerTags.length > 0) return;
      await channel.prefetch(allowance.prefetch());
      const began = await Promise.all(queues.map((queue) => channel.consume(queue, onMessage)));
      consumerTags = began.map(({ consumerTag }) => consumerTag);
      current = { channel, acks };
    };
    const stop = async () => {
      await Promise.all(consumerTags.splice(0).map((tag) => channel.cancel(tag)));
    };
    taking = { start: () => inTurn(start), stop: () => inTurn(stop), closed };
    if (begun) await taking.start();
  });

  return {
    async begin(most) {
      if (begun) return;
      begun = true;
      allowance.begin(most);
      await taking?.start();
    },
    isConnected: () => connection.isConnected() && current !== undefined,
    async pause() {
      paused = true;
      if (taking) await Promise.race([taking.stop().catch(() => {}), taking.closed]);
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
 * Limits what is in hand: `full` messages, and not many more bytes than `maxBytes`. Above that it stops taking, and starts again, with a
 * prefetch that suits such messages, once half of them is settled. Later it tries the full prefetch again.
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
    /** One message of that size, from one of that many queues. */
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

/** Separate from the message, so that these functions keep only its tag alive. */
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
