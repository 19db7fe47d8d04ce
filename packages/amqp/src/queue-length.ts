/** How long a queue is that may be gone. */
import type { ChannelModel } from 'amqplib';

const notFound = 404;

/** How many messages a queue has ready; undefined if there is none. It takes a channel of its own, which RabbitMQ closes then. */
export async function lengthOf(model: ChannelModel, queue: string): Promise<number | undefined> {
  const channel = await model.createChannel();
  channel.on('error', () => {});
  try {
    const { messageCount } = await channel.checkQueue(queue);
    await channel.close();
    return messageCount;
  } catch (error) {
    if ((error as { code?: number }).code === notFound) return undefined;
    throw error;
  }
}
