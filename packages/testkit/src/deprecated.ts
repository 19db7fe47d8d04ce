/** Which of RabbitMQ's deprecated features (https://www.rabbitmq.com/release-information/deprecated-features-list) are in use. */
import { management } from './stores.ts';

type Queue = { name: string; type: string; durable: boolean; exclusive: boolean };
type Channel = { name: string; vhost: string; global_prefetch_count: number };

/**
 * One line each for that URL's vhost; empty if there are none. From 3.13 on a broker itself reports the ones it knows to be in use. Transient
 * queues and global prefetch counts are found on any broker.
 */
export async function deprecatedInUse(amqpUrl: string): Promise<string[]> {
  const vhost = new URL(amqpUrl).pathname.slice(1);
  const [queues, channels, { rabbitmq_version: version }] = (await Promise.all([
    management('GET', `/api/queues/${vhost}`),
    management('GET', '/api/channels'),
    management('GET', '/api/overview'),
  ])) as [Queue[], Channel[], { rabbitmq_version: string }];
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const said =
    major > 3 || minor >= 13 ? ((await management('GET', '/api/deprecated-features/used')) as { name: string }[]) : [];
  return [
    ...queues
      .filter(({ type, durable, exclusive }) => !exclusive && !(durable && type === 'quorum'))
      .map(({ name }) => `the queue ${name} is neither a lasting quorum queue nor exclusive`),
    ...channels
      .filter((channel) => channel.vhost === vhost && channel.global_prefetch_count > 0)
      .map(({ name }) => `the channel ${name} has a prefetch for all its consumers`),
    ...said.map(({ name }) => `${name} is used, says RabbitMQ ${version}`),
  ];
}
