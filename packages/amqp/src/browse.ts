/** Looks through the first messages of a queue without removing any, except those that the caller takes. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Channel, ConsumeMessage } from 'amqplib';
import { connectOnce } from './connect-once.ts';

export type Seen = {
  body: Buffer;
  headers: Record<string, unknown>;
  contentType: string | undefined;
  messageId: string | undefined;
};

/** Picks what is wanted from a message, or undefined; the body is kept only if the result holds it. */
type Pick<T> = (message: Seen) => T | undefined;

const lookMaxMs = 10_000;
const consumerTag = 'browsing';
const backEveryMs = 10;

/**
 * Passes `use` what was picked from the first `most` messages of a queue, then puts all of them back into their places except those it takes.
 * Meanwhile nobody else sees these messages: callers take turns. `total`: how many messages the queue had ready.
 */
export async function browse<T, R>(
  options: {
    url: string;
    name: string;
    queue: string;
    most: number;
    /** How long RabbitMQ may take to accept a connection, to send a first message, and to put messages back. */
    timeoutMs: number;
    /** After this long without a message it stops: RabbitMQ sends what it has without a pause, unless another consumer takes it. */
    idleMs: number;
  },
  pick: Pick<T>,
  use: (picked: { item: T; take(): void }[], total: number) => Promise<R>,
): Promise<R> {
  const { url, name, queue, most, timeoutMs, idleMs } = options;
  const connection = await connectOnce(url, { name, timeoutMs, rounds: 1 });
  connection.on('error', () => {}); // calls that wait for an answer reject
  try {
    const channel = await connection.createChannel();
    channel.on('error', () => {});
    const { messageCount: total } = await channel.checkQueue(queue);
    const wanted = Math.min(total, most);
    let taken = 0;
    const picked = (wanted > 0 ? await pickFrom(channel, { queue, wanted, timeoutMs, idleMs }, pick) : []).map(
      ({ item, take }) => ({
        item,
        take() {
          taken += 1;
          take();
        },
      }),
    );
    const result = await use(picked, total);
    if (wanted > 0) {
      await channel.cancel(consumerTag);
      channel.nackAll(true);
    }
    // A quorum queue takes some milliseconds to put its messages back: the next caller must find them.
    const untilMs = performance.now() + timeoutMs;
    while ((await channel.checkQueue(queue)).messageCount < total - taken && performance.now() < untilMs)
      await wait(backEveryMs);
    await channel.close();
    return result;
  } finally {
    await connection.close().catch(() => {}); // it is gone
  }
}

/** Consumes until it has seen as many messages as wanted, or no more arrive. */
async function pickFrom<T>(
  channel: Channel,
  { queue, wanted, timeoutMs, idleMs }: { queue: string; wanted: number; timeoutMs: number; idleMs: number },
  pick: Pick<T>,
): Promise<{ item: T; take(): void }[]> {
  const picked: { item: T; take(): void }[] = [];
  const complete = Promise.withResolvers<void>();
  const late = setTimeout(complete.resolve, lookMaxMs);
  let idle = setTimeout(complete.resolve, timeoutMs);
  let seen = 0;
  const onMessage = (message: ConsumeMessage | null) => {
    if (message === null) return complete.resolve();
    const { content: body, properties } = message;
    const { headers = {}, contentType, messageId } = properties;
    const item = pick({ body, headers, contentType, messageId });
    const { deliveryTag } = message.fields;
    const take = () => channel.ack({ fields: { deliveryTag } } as never); // all that it reads of a message
    if (item !== undefined) picked.push({ item, take });
    seen += 1;
    clearTimeout(idle);
    idle = setTimeout(complete.resolve, seen === wanted ? 0 : idleMs);
  };
  await channel.prefetch(wanted);
  await channel.consume(queue, onMessage, { consumerTag });
  await complete.promise;
  clearTimeout(late);
  clearTimeout(idle);
  return picked;
}
