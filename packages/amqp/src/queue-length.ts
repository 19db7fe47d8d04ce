/** The length of a queue that may not exist. */
import type { ChannelModel } from 'amqplib';

const notFound = 404;

/** How many messages a queue has ready; undefined if it does not exist. Uses a separate channel, since RabbitMQ closes it in that case. */
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
