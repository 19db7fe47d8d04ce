/** RabbitMQ: on its default port, or a private instance of one node. */
import { join } from 'node:path';
import { shardsMax, topologyOf } from '@gatepost/contracts/shards';
import { type ChannelModel, connect } from 'amqplib';
import { answers } from '../processes/ports.ts';
import { findProgram } from '../processes/programs.ts';
import { launch, type PrivateOptions, type PrivateStore, recallInstance, type StoreKind } from './private.ts';
import { nameServiceArgs, prepareNode, vhostName } from './rabbitmq-node.ts';

export const rabbitmq: StoreKind = {
  name: 'RabbitMQ',
  variable: 'AMQP_URL',
  service: 'rabbitmq',
  package: 'rabbitmq-server',
  /** As `guest`: in a vhost of our own if there is one, else in the default one. */
  async probe(_env, port = 5672) {
    if (!(await answers(port))) return undefined;
    const shared = `amqp://guest:guest@127.0.0.1:${port}`;
    for (const url of [`${shared}/${vhostName}`, shared]) if (await letsIn(url)) return url;
    return undefined;
  },
  letsIn,
  /** The server's own script; Debian's wrapper in /usr/sbin wants to change the user. */
  find: (path) => findProgram(['/usr/lib/rabbitmq/bin/rabbitmq-server', 'rabbitmq-server'], path),
  prepare,
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
  const connection = await connect(url, { timeout: 3_000 });
  connection.on('error', () => {}); // what it breaks rejects
  try {
    return await work(connection);
  } finally {
    await connection.close();
  }
}

async function prepare(program: string, options: PrivateOptions): Promise<PrivateStore> {
  const folder = join(options.home, 'rabbitmq');
  const instance = await recallInstance(folder, options.signal);
  const { env, managementUrl, url, producerUrl } = await prepareNode(
    { name: 'gatepost@localhost', folder, ...instance },
    options,
  );
  return {
    url,
    producerUrl,
    ...(options.management ? { managementUrl } : {}),
    launch: () =>
      launch(options, {
        name: 'RabbitMQ',
        // Beside its name service, which ends with it: one that a node starts for itself would outlive it.
        command: '/bin/sh',
        args: ['-c', '"$@" & exec "$0"', program, ...nameServiceArgs(instance.epmdPort)],
        env,
        cwd: folder,
        log: 'rabbitmq',
        letsIn: async () => (await letsIn(url)) && letsIn(producerUrl),
      }),
  };
}
