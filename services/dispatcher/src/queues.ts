/** `dispatcher_queue_messages`: how long our queues are. All dispatchers show the same numbers. */
import type { Publisher } from '@gatepost/amqp/publisher';
import { type Shards, shardQueues } from '@gatepost/contracts/shards';
import { Gauge, type Registry } from '@gatepost/runtime/metrics';

const lookEveryMs = 5_000;

/** Asks each queue's length every five seconds. While RabbitMQ is away the last numbers stay, and `/readyz` tells. */
export function watchQueues(lengths: Record<string, () => Promise<number>>, registry: Registry): Disposable {
  const gauge = new Gauge({
    name: 'dispatcher_queue_messages',
    help: 'Messages ready in a queue, without those in hand; the same number from every dispatcher',
    labelNames: ['queue'],
    registers: [registry],
  });
  const look = () => {
    for (const [queue, length] of Object.entries(lengths))
      length().then(
        (messages) => gauge.set({ queue }, messages),
        () => {}, // away
      );
  };
  look();
  const timer = setInterval(look, lookEveryMs).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** Ready messages in all shards of a queue, including shards left over from a larger number, which somebody may delete. */
export async function lengthOfShards(
  publisher: Pick<Publisher, 'waiting'>,
  name: string,
  { used, there }: Shards,
): Promise<number> {
  const lengths = shardQueues(name, there).map((queue, index) =>
    publisher.waiting(queue, { mayBeGone: index >= used }),
  );
  return (await Promise.all(lengths)).reduce((sum, length) => sum + length, 0);
}
