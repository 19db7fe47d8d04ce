/** A producer as somebody else would write it: plain amqplib with confirms and `mandatory`. */
import { randomUUID } from 'node:crypto';
import { connect } from 'amqplib';

export type ProducedEvent = {
  type?: string;
  subject?: string;
  id?: string;
  source?: string;
  time?: string;
  /** An object is written as JSON; bytes and text go out as they are. */
  body?: Buffer | string | object;
  contentType?: string;
  /** The property by which RabbitMQ vouches for the publishing user. */
  userId?: string;
  /** Replaces or, with undefined, leaves out AMQP headers. */
  headers?: Record<string, unknown>;
};

export type Producer = AsyncDisposable & {
  /** Publishes one event and resolves to its id once the broker has confirmed it. @throws when no queue takes it. */
  publish(event?: ProducedEvent): Promise<string>;
};

export async function openProducer(amqpUrl: string): Promise<Producer> {
  const connection = await connect(amqpUrl, { noDelay: true });
  connection.on('error', () => {}); // publishing rejects
  const channel = await connection.createConfirmChannel();
  const returned = new Set<string>();
  channel.on('return', (message) => returned.add(message.properties.messageId as string));
  channel.on('error', () => {});
  return {
    async publish(event = {}) {
      const id = event.id ?? randomUUID();
      const messageId = randomUUID();
      const { type = 'push', body = { ref: 'refs/heads/main' } } = event;
      const bytes = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
      const headers = {
        'cloudEvents:specversion': '1.0',
        'cloudEvents:id': id,
        'cloudEvents:source': event.source ?? 'urn:gatepost:test',
        'cloudEvents:type': type,
        'cloudEvents:subject': event.subject ?? 'acme/widgets',
        'cloudEvents:time': event.time ?? new Date().toISOString(),
        ...event.headers,
      };
      await new Promise<void>((resolve, reject) => {
        const options = {
          mandatory: true,
          persistent: true,
          contentType: event.contentType ?? 'application/json',
          messageId,
          headers,
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
    async [Symbol.asyncDispose]() {
      await connection.close().catch(() => {}); // the broker of a test may be gone already
    },
  };
}
