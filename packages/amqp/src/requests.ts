/**
 * Requests and answers through RabbitMQ: the requester names only a routing key, and gets the answer by direct reply-to
 * (https://www.rabbitmq.com/docs/direct-reply-to). Nothing is stored: requests under way are lost when a connection breaks.
 */
import { randomUUID } from 'node:crypto';
import type { Channel, ChannelModel, ConsumeMessage } from 'amqplib';
import { type ConnectionOptions, openConnection } from './connection.ts';
import { within } from './publisher.ts';

export type Asked = { exchange: string; routingKey: string; type: string; body: Buffer; timeoutMs: number };

export type Got =
  | { kind: 'answer'; body: Buffer }
  /** Nobody takes such requests at the moment. */
  | { kind: 'unroutable' }
  | { kind: 'late' }
  /**
   * There is no connection, or it broke or an alarm of the broker stopped it meanwhile: the request may have been handled all the same.
   */
  | { kind: 'lost' };

/** `request` never rejects. */
export type Requester = AsyncDisposable & { request(asked: Asked): Promise<Got> };

const replyTo = 'amq.rabbitmq.reply-to';

export async function openRequester(options: ConnectionOptions): Promise<Requester> {
  const waiting = new Map<string, (got: Got) => void>();
  let channel: Channel | undefined;
  let sequence = 0;
  /** Until when the broker read nothing that we publish, because of an alarm. */
  let blockedUntil = Number.NEGATIVE_INFINITY;

  const connection = await openConnection(options, async (model: ChannelModel) => {
    blockedUntil = Number.NEGATIVE_INFINITY;
    model.on('blocked', () => {
      blockedUntil = Number.POSITIVE_INFINITY;
    });
    model.on('unblocked', () => {
      blockedUntil = performance.now();
    });
    const opened = await model.createChannel();
    const settle = ({ properties }: Pick<ConsumeMessage, 'properties'>, got: Got) =>
      waiting.get(String(properties.correlationId))?.(got);
    opened.on('error', () => {}); // 'close' follows
    opened.on('return', (message) => settle(message, { kind: 'unroutable' }));
    opened.on('close', () => {
      if (channel !== opened) return;
      channel = undefined;
      for (const answer of [...waiting.values()]) answer({ kind: 'lost' });
      model.close().catch(() => {});
    });
    const onAnswer = (message: ConsumeMessage | null) => {
      if (message) settle(message, { kind: 'answer', body: message.content });
    };
    await opened.consume(replyTo, onAnswer, { noAck: true });
    channel = opened;
  });

  return {
    request({ exchange, routingKey, type, body, timeoutMs }) {
      const current = channel;
      const startedAt = performance.now();
      // Nothing is written during an alarm: it would stay in memory, and be handled after its time.
      if (!current || blockedUntil > startedAt) return Promise.resolve({ kind: 'lost' });
      const correlationId = String(++sequence);
      return new Promise((resolve) => {
        const settle = (got: Got) => {
          clearTimeout(timer);
          if (waiting.delete(correlationId)) resolve(got);
        };
        const timer = setTimeout(() => settle({ kind: blockedUntil > startedAt ? 'lost' : 'late' }), timeoutMs);
        waiting.set(correlationId, settle);
        const expiration = Math.ceil(timeoutMs);
        try {
          current.publish(exchange, routingKey, body, { mandatory: true, correlationId, replyTo, type, expiration });
        } catch {
          settle({ kind: 'lost' });
        }
      });
    },
    async [Symbol.asyncDispose]() {
      channel = undefined;
      await connection.close();
      for (const answer of [...waiting.values()]) answer({ kind: 'lost' });
    },
  };
}

/** `answer` does nothing when the requester is no longer waiting. */
export type Request = { routingKey: string; type: string; body: Buffer; answer(body: Buffer): void };

export type Responder = AsyncDisposable & {
  isConnected(): boolean;
  /**
   * Takes requests with that routing key, now and on every later connection. Rejects while no broker is connected. When it rejects because the
   * broker did not answer in time, it may be bound all the same, until `unbind`.
   */
  bind(routingKey: string): Promise<void>;
  /** Never rejects. A broker that does not answer in time does it later. */
  unbind(routingKey: string): Promise<void>;
  /** Sends a message without an answer to the process that takes that routing key. */
  tell(routingKey: string, type: string, body: string): void;
};

/**
 * Takes requests from a queue of its own, which RabbitMQ deletes as soon as the connection is gone: a requester then learns at once that
 * nobody is there.
 */
export async function openResponder(
  options: ConnectionOptions & { exchange: string; onRequest(request: Request): void; answerTimeoutMs?: number },
): Promise<Responder> {
  const { exchange, log, answerTimeoutMs = 10_000 } = options;
  const keys = new Set<string>();
  let current: { channel: Channel; queue: string } | undefined;
  const connection = await openConnection(options, async (model: ChannelModel) => {
    const channel = await model.createChannel();
    const onError = (error: Error) => log.error({ 'amqp.exchange': exchange, error }, 'RabbitMQ closed the channel');
    channel.on('error', onError);
    const startAnew = () => {
      if (current?.channel !== channel) return;
      current = undefined;
      model.close().catch(() => {});
    };
    channel.on('close', startAnew);
    // A new name for each connection: the broker may not have noticed yet that the previous one is gone.
    const queue = `${exchange}.${randomUUID()}`;
    await channel.assertQueue(queue, { exclusive: true, durable: false, autoDelete: true });
    for (const key of keys) await channel.bindQueue(queue, exchange, key);
    const onMessage = (message: ConsumeMessage | null) => {
      if (!message) return startAnew();
      const { type, replyTo: to, correlationId } = message.properties;
      const answer = (body: Buffer) => {
        if (current?.channel === channel && to) publishIfOpen(channel, '', to, body, { correlationId });
      };
      options.onRequest({ routingKey: message.fields.routingKey, type: String(type), body: message.content, answer });
    };
    current = { channel, queue };
    await channel.consume(queue, onMessage, { noAck: true });
  });

  return {
    isConnected: () => current !== undefined,
    async bind(key) {
      if (!current) throw new Error('not connected to RabbitMQ');
      keys.add(key);
      await within(answerTimeoutMs, current.channel.bindQueue(current.queue, exchange, key));
    },
    async unbind(key) {
      // Without a connection there is no queue to unbind.
      if (!keys.delete(key) || !current) return;
      await within(answerTimeoutMs, current.channel.unbindQueue(current.queue, exchange, key)).catch(() => {});
    },
    tell(key, type, body) {
      if (current) publishIfOpen(current.channel, exchange, key, Buffer.from(body), { type });
    },
    async [Symbol.asyncDispose]() {
      current = undefined;
      await connection.close();
    },
  };
}

function publishIfOpen(channel: Channel, ...message: Parameters<Channel['publish']>): void {
  try {
    channel.publish(...message);
  } catch {
    // The channel is closed: nobody is waiting any more.
  }
}
