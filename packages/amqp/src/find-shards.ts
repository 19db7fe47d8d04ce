/** Finds out which shards a broker has. */
import { type AllShards, type Shards, shardQueues, shardsMax } from '@gatepost/contracts/shards';
import { deliveriesQueue, eventsQueue } from '@gatepost/contracts/topology';
import { Misconfigured } from '@gatepost/runtime/misconfigured';
import type { ChannelModel } from 'amqplib';
import { connectOnce } from './connect-once.ts';
import { lengthOf } from './queue-length.ts';

/**
 * Looks for queues beyond the wanted ones: they used to be shards, and messages may wait there.
 * @throws Misconfigured when more than one shard is wanted and RabbitMQ lacks the plugin for it
 */
export async function findShards(url: string, wanted: { events: number; deliveries: number }): Promise<AllShards> {
  const model = await connectOnce(url, { name: 'gatepost dispatcher shards', timeoutMs: 10_000, rounds: 5 });
  const closed = new Promise<Error>((resolve) => model.on('error', resolve));
  try {
    if (Math.max(wanted.events, wanted.deliveries) > 1) await checkPlugin(model, closed);
    return {
      events: await find(model, eventsQueue, wanted.events),
      deliveries: await find(model, deliveriesQueue, wanted.deliveries),
    };
  } finally {
    await model.close().catch(() => {}); // RabbitMQ has closed it
  }
}

/** RabbitMQ closes the connection when asked for an exchange of an unknown type. */
async function checkPlugin(model: ChannelModel, closed: Promise<Error>): Promise<void> {
  const channel = await model.createChannel();
  channel.on('error', () => {}); // the call rejects
  const name = 'gatepost.probe';
  const declared = channel.assertExchange(name, 'x-consistent-hash', { autoDelete: true });
  declared.catch(() => {}); // `closed` says why
  const refused = await Promise.race([declared.then(() => undefined), closed]);
  if (refused)
    throw /unknown exchange type/.test(refused.message)
      ? new Misconfigured('could not start', [
          'EVENT_SHARDS, DELIVERY_SHARDS: more than 1 takes the plugin rabbitmq_consistent_hash_exchange of RabbitMQ',
        ])
      : refused;
  await channel.deleteExchange(name);
  await channel.close();
}

async function find(model: ChannelModel, name: string, used: number): Promise<Shards> {
  let there = used;
  for (const further of shardQueues(name, shardsMax).slice(used)) {
    if (!(await exists(model, further))) break;
    there += 1;
  }
  return { used, there };
}

/** Whether the queue exists. */
export async function exists(model: ChannelModel, queue: string): Promise<boolean> {
  return (await lengthOf(model, queue)) !== undefined;
}
