/** A producer as others would write it: plain amqplib with confirms and `mandatory`. */
import { randomUUID } from 'node:crypto';
import { type ChannelModel, type ConfirmChannel, connect, type Options } from 'amqplib';

export type ProducedEvent = {
  type?: string;
  subject?: string;
  id?: string;
  source?: string;
  time?: string;
  /** An object is written as JSON; bytes and text are sent unchanged. */
  body?: Buffer | string | object;
  contentType?: string;
  /** The property with which RabbitMQ vouches for the publishing user. */
  userId?: string;
  /** Replaces or, with undefined, leaves out AMQP headers. */
  headers?: Record<string, unknown>;
};

export type Producer = AsyncDisposable & {
  /** Publishes one event and resolves to its id once the broker has confirmed it. @throws when no queue takes it. */
  publish(event?: ProducedEvent): Promise<string>;
  /** Publishes anything as given; resolves once confirmed. @throws when it cannot be written as AMQP, or the broker refuses it. */
  send(routingKey: string, body: Buffer, properties: Options.Publish): Promise<void>;
};

export async function openProducer(amqpUrl: string): Promise<Producer> {
  const connection = await connect(amqpUrl, { noDelay: true });
  connection.on('error', () => {}); // publishing rejects
  const channel = await connection.createConfirmChannel();
  const returned = new Set<string>();
  channel.on('return', (message) => returned.add(message.properties.messageId as string));
  channel.on('error', () => {});
  let sending: Promise<Sending> | undefined;
  return {
    async publish(event = {}) {
      const id = event.id ?? randomUUID();
      const messageId = randomUUID();
      const { type = 'push', body = { ref: 'refs/heads/main' } } = event;
      const bytes = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
      await new Promise<void>((resolve, reject) => {
        const options = {
          mandatory: true,
          persistent: true,
          contentType: event.contentType ?? 'application/json',
          messageId,
          headers: headersOf(id, type, event),
          ...(event.userId === undefined ? {} : { userId: event.userId }),
        };
        channel.publish('gatepost.events', type, bytes, options, (error) => {
          if (error) reject(error);
          else if (returned.has(messageId)) reject(new Error(`no queue took ${type}`));
          else resolve();
        });
      });
      return id;
    },
    async send(routingKey, body, properties) {
      sending ??= openSending(amqpUrl);
      const { connection, channel, closed } = await sending;
      const confirmed = new Promise<void>((resolve, reject) => {
        channel.publish('gatepost.events', routingKey, body, properties, (error) =>
          error ? reject(error) : resolve(),
        );
      });
      try {
        await Promise.race([confirmed, closed]);
      } catch (error) {
        sending = undefined; // one message may break its connection; the next gets a new one
        await connection.close().catch(() => {});
        throw error;
      }
    },
    async [Symbol.asyncDispose]() {
      await (await sending)?.connection.close().catch(() => {});
      await connection.close().catch(() => {}); // the test's broker may be gone already
    },
  };
}

function headersOf(id: string, type: string, event: ProducedEvent): Record<string, unknown> {
  return {
    'cloudEvents:specversion': '1.0',
    'cloudEvents:id': id,
    'cloudEvents:source': event.source ?? 'urn:gatepost:test',
    'cloudEvents:type': type,
    'cloudEvents:subject': event.subject ?? 'acme/widgets',
    'cloudEvents:time': event.time ?? new Date().toISOString(),
    ...event.headers,
  };
}

type Sending = { connection: ChannelModel; channel: ConfirmChannel; closed: Promise<never> };

async function openSending(amqpUrl: string): Promise<Sending> {
  const connection = await connect(amqpUrl, { noDelay: true });
  const channel = await connection.createConfirmChannel();
  const closed = new Promise<never>((_, reject) => {
    channel.once('error', reject);
    connection.once('error', reject);
  });
  closed.catch(() => {}); // the sender gets the error
  return { connection, channel, closed };
}
