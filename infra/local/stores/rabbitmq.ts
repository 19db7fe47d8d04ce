/** RabbitMQ: on its default port, or a private instance of one node. */
import { shardsMax, topologyOf } from '@gatepost/contracts/shards';
import { type ChannelModel, connect } from 'amqplib';
import { launcher } from '../processes/launch.ts';
import { recallInstance, type StoreKind } from './private.ts';
import { nameServiceArgs, prepareNode, vhostName } from './rabbitmq-node.ts';

export const rabbitmq: StoreKind = {
  name: 'RabbitMQ',
  variable: 'AMQP_URL',
  service: 'rabbitmq',
  package: 'rabbitmq-server',
  /** The server's own script first; Debian's wrapper in /usr/sbin wants to change the user. */
  programs: () => ['/usr/lib/rabbitmq/bin/rabbitmq-server', 'rabbitmq-server'],
  /** As `guest`: in a vhost of our own if there is one, else in the default one. */
  usual: (_env, port = 5672) =>
    [vhostName, ''].map((vhost) => new URL(vhost, `amqp://guest:guest@127.0.0.1:${port}`).href),
  letsIn,
  async prepare(program, options) {
    const instance = await recallInstance(options, 'rabbitmq');
    const { env, managementUrl, ...urls } = await prepareNode(
      { name: 'gatepost@localhost', program, ...instance },
      options,
    );
    const launch = launcher(options, {
      name: 'RabbitMQ',
      // Beside its name service, which ends with it: one that a node starts for itself would outlive it.
      command: '/bin/sh',
      args: ['-c', '"$@" & exec "$0"', program, ...nameServiceArgs(instance.epmdPort)],
      env,
      cwd: instance.folder,
      log: 'rabbitmq',
      letsIn: async () => (await letsIn(urls.url)) && letsIn(urls.producerUrl),
    });
    return { ...urls, ...(options.management && { managementUrl }), launch };
  },
  drop: (url) =>
    withConnection(url, async (connection) => {
      const channel = await connection.createChannel();
      const all = { used: shardsMax, there: shardsMax };
      const { queues, exchanges } = topologyOf({ events: all, deliveries: all });
      await Promise.all(queues.map(({ name }) => channel.deleteQueue(name)));
      for (const { name } of exchanges) await channel.deleteExchange(name);
    }),
};

/** Does the broker open a connection for that user in that vhost? */
async function letsIn(url: string): Promise<boolean> {
  return withConnection(url, async () => true).catch(() => false);
}

async function withConnection<T>(url: string, work: (connection: ChannelModel) => Promise<T>): Promise<T> {
  // On a busy machine a node that has just started takes its time; RabbitMQ itself gives up on a handshake after 10 s.
  const connection = await connect(url, { timeout: 10_000 });
  connection.on('error', () => {}); // what it breaks rejects
  try {
    return await work(connection);
  } finally {
    await connection.close();
  }
}
