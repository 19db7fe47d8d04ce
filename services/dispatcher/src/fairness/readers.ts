/** Further consumers of the events queue, which read on past the events being routed. */
import type { ConnectionOptions } from '@gatepost/amqp/connection';
import { type Consumer, type Incoming, openConsumer } from '@gatepost/amqp/consumer';

export type Readers = AsyncDisposable & {
  /** How many there are. */
  count(): number;
  /** How many messages RabbitMQ hands to all of them from one queue: an account floods only one. */
  capacity(): number;
  /** Adds a consumer with a prefetch that suits messages of this mean size. Answers the prefetch. */
  extend(meanBytes: number): Promise<number>;
  /** Closes all of them; unsettled messages go back. */
  end(): Promise<void>;
  /** Takes no further messages. */
  pause(): Promise<void>;
};

/** The queues that events wait in. */
export type EventQueues = { queue: string[]; leftover: string[] };

/** How many bytes RabbitMQ may have under way to one reader. */
const underWayBytes = 64 * 1024 * 1024;
const prefetchMin = 100;
const prefetchMax = 60_000;

export async function openReaders(
  broker: Omit<ConnectionOptions, 'name'> & EventQueues,
  onMessage: (message: Incoming) => void,
): Promise<Readers> {
  const open = (number: number, prefetch: number, standby: boolean) =>
    openConsumer({
      ...broker,
      name: `gatepost dispatcher reading ahead ${number}`,
      prefetch,
      standby,
      onMessage,
    });
  let readers: Consumer[] = [];
  let capacity = 0;
  // Connected in advance, because a flooded broker takes seconds to accept a connection.
  let standby: Consumer | undefined = await open(1, prefetchMin, true);

  return {
    count: () => readers.length,
    capacity: () => capacity,
    async extend(meanBytes) {
      const prefetch = Math.round(Math.min(prefetchMax, Math.max(prefetchMin, underWayBytes / meanBytes)));
      const next = standby ?? (await open(readers.length + 1, prefetch, false));
      standby = undefined;
      readers.push(next);
      capacity += prefetch;
      await next.begin(prefetch);
      return prefetch;
    },
    async end() {
      const ended = readers;
      readers = [];
      capacity = 0;
      await Promise.all(ended.map((reader) => reader.pause()));
      await Promise.all(ended.map((reader) => reader[Symbol.asyncDispose]()));
      standby = await open(1, prefetchMin, true);
    },
    async pause() {
      await Promise.all([standby, ...readers].map((reader) => reader?.pause()));
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([standby, ...readers].map((reader) => reader?.[Symbol.asyncDispose]()));
    },
  };
}
