/** Consuming: messages are handed out up to the prefetch and settled exactly once, by whoever holds them. */
import type { Channel, ChannelModel, ConsumeMessage } from 'amqplib';
import { type ConnectionOptions, openConnection } from './connection.ts';

export type Incoming = {
  body: Buffer;
  headers: Record<string, unknown>;
  contentType: string | undefined;
  routingKey: string;
  messageId: string | undefined;
  /** Someone has had this message before and did not settle it: what follows from it may have happened already. */
  redelivered: boolean;
  /** Takes the message off the queue. After a lost connection it does nothing: the broker will hand the message out again. */
  ack(): void;
  /** Gives the message back at once; quorum queues count it. Whoever keeps this alone does not keep the body. */
  giveBack(): void;
  isSettled(): boolean;
};

export type Consumer = AsyncDisposable & {
  /** Begins, if the consumer was opened on standby, with this prefetch. */
  begin(prefetch: number): Promise<void>;
  /** Takes no further messages; those in hand can still be settled. */
  pause(): Promise<void>;
  isConnected(): boolean;
};

/**
 * Consumes a queue, at most `prefetch` messages in hand. `onMessage` must not throw; it settles each message itself, sooner or
 * later. A consumer that the broker cancels (queue deleted, node down) connects anew and declares the topology again. On `standby`
 * it is connected, which takes a busy broker seconds, and takes nothing before `begin`.
 */
export async function openConsumer(
  options: ConnectionOptions & {
    queue: string;
    prefetch: number;
    standby?: boolean;
    onMessage: (message: Incoming) => void;
  },
): Promise<Consumer> {
  let paused = false;
  let begun = !options.standby;
  let { prefetch } = options;
  let standing: (() => Promise<void>) | undefined;
  let current: { channel: Channel; consumerTag: string } | undefined;

  const connection = await openConnection(options, async (model: ChannelModel) => {
    const channel = await model.createChannel();
    const startAnew = () => {
      if (current?.channel !== channel) return;
      current = undefined;
      model.close().catch(() => {});
    };
    channel.on('error', (error) =>
      options.log.error({ 'amqp.queue': options.queue, error }, 'RabbitMQ closed the channel'),
    );
    channel.on('close', startAnew);
    const consume = async () => {
      if (paused) return;
      await channel.prefetch(prefetch);
      const { consumerTag } = await channel.consume(options.queue, (message) => {
        if (message === null) {
          options.log.warn({ 'amqp.queue': options.queue }, 'RabbitMQ cancelled the consumer, starting anew');
          return startAnew();
        }
        if (paused) return giveBack(channel, message);
        options.onMessage(incoming(channel, message));
      });
      current = { channel, consumerTag };
    };
    standing = consume;
    if (begun) await consume();
  });

  return {
    async begin(most) {
      if (begun) return;
      begun = true;
      prefetch = most;
      await standing?.();
    },
    isConnected: () => connection.isConnected() && current !== undefined,
    async pause() {
      paused = true;
      // A connection lost just now has no consumer to cancel.
      await current?.channel.cancel(current.consumerTag).catch(() => {});
    },
    async [Symbol.asyncDispose]() {
      paused = true;
      const { channel } = current ?? {};
      current = undefined;
      // Acks are written without waiting; closing the channel waits until the broker has read them.
      await channel?.close().catch(() => {});
      await connection.recovering.close();
    },
  };
}

function incoming(channel: Channel, message: ConsumeMessage): Incoming {
  const settling = settlingOf(channel, message.fields.deliveryTag);
  return {
    body: message.content,
    headers: message.properties.headers ?? {},
    contentType: message.properties.contentType as string | undefined,
    routingKey: message.fields.routingKey,
    messageId: message.properties.messageId as string | undefined,
    redelivered: message.fields.redelivered,
    ...settling,
  };
}

/** Apart from the message, so that these functions hold on to its tag alone. */
function settlingOf(channel: Channel, deliveryTag: number): Pick<Incoming, 'ack' | 'giveBack' | 'isSettled'> {
  const tagged = { fields: { deliveryTag } } as ConsumeMessage;
  let settled = false;
  const settle = (how: () => void) => {
    if (settled) throw new Error('a message is settled once');
    settled = true;
    try {
      how();
    } catch {
      // The channel is closed: the broker hands the message out again.
    }
  };
  return {
    ack: () => settle(() => channel.ack(tagged)),
    giveBack: () => settle(() => channel.nack(tagged, false, true)),
    isSettled: () => settled,
  };
}

function giveBack(channel: Channel, message: ConsumeMessage): void {
  try {
    channel.nack(message, false, true);
  } catch {
    // The channel is closed: the broker hands the message out again.
  }
}
