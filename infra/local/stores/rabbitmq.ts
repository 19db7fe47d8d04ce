/** RabbitMQ: on its default port, or a private instance of one node. Nodes of a cluster (infra/chaos) are set up here too. */
import { globSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { shardsMax, topologyOf } from '@gatepost/contracts/shards';
import { deadLettersPolicy, eventsPolicy, producerPermissions } from '@gatepost/contracts/topology';
import { freePorts } from '@gatepost/testkit/system';
import { type ChannelModel, connect } from 'amqplib';
import { endsWithUs, launcher } from '../processes/child.ts';
import { makeFolder, writePrivate } from '../processes/home.ts';
import { type PrivateOptions, recallInstance, type StoreKind } from './private.ts';

const ours = 'gatepost'; // our vhost, and the services' user
const producerName = 'producer';
const shardsPlugin = 'rabbitmq_consistent_hash_exchange';

export const rabbitmq: StoreKind = {
  name: 'RabbitMQ',
  variable: 'AMQP_URL',
  service: 'rabbitmq',
  package: 'rabbitmq-server',
  /** The server's own script first; Debian's wrapper in /usr/sbin wants to change the user. */
  programs: () => ['/usr/lib/rabbitmq/bin/rabbitmq-server', 'rabbitmq-server'],
  /** As `guest`: in our own vhost if there is one, else in the default one. */
  usual: (_env, port = 5672) => [ours, ''].map((vhost) => new URL(vhost, `amqp://guest:guest@127.0.0.1:${port}`).href),
  /** Does the broker let that user connect to that vhost? */
  letsIn: (url) => withConnection(url, async () => true).catch(() => false),
  async prepare(program, options) {
    const instance = await recallInstance(options, 'rabbitmq');
    const { env, ...urls } = await prepareNode({ name: 'gatepost@localhost', program, ...instance }, options);
    const launch = launcher(options, {
      name: 'RabbitMQ',
      // With a name service that ends with it; one started by the node itself would outlive it.
      command: '/bin/sh',
      args: ['-c', '"$@" & exec "$0"', program, ...nameServiceArgs(instance.epmdPort)],
      env,
      cwd: instance.folder,
      letsIn: async () => (await rabbitmq.letsIn(urls.url)) && rabbitmq.letsIn(urls.producerUrl),
    });
    return { ...urls, launch };
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

async function withConnection<T>(url: string, work: (connection: ChannelModel) => Promise<T>): Promise<T> {
  // A node that has just started is slow on a busy machine; RabbitMQ itself ends a handshake after 10 s.
  const connection = await connect(url, { timeout: 10_000 });
  connection.on('error', () => {}); // failed calls reject
  return work(connection).finally(() => connection.close());
}

/** A node to be: its name in Erlang (`gatepost@localhost`), its server, and further lines of its configuration. */
export type Node = Awaited<ReturnType<typeof recallInstance>> & { name: string; program: string; config?: string[] };

/** Writes the server's configuration. Returns its URLs and its environment. */
export async function prepareNode(node: Node, { forTests }: Pick<PrivateOptions, 'forTests'>) {
  const [managementPort, distPort] = await freePorts(2);
  const { folder, port, password, producerPassword, config = [] } = node;
  const write = (name: string, ...lines: string[]) => writePrivate(join(folder, name), `${lines.join('\n')}\n`);
  const management = ['management.tcp.ip = 127.0.0.1', `management.tcp.port = ${managementPort}`];
  write(
    'rabbitmq.conf',
    `listeners.tcp.1 = 127.0.0.1:${port}`,
    // Imported at every start, to add what data of an earlier version lacks.
    `load_definitions = ${join(folder, 'definitions.json')}`,
    'max_message_size = 134217728', // an event may be 25 MB; RabbitMQ 4 takes 16 MiB by default
    'log.console = true',
    'log.console.level = warning',
    'log.file = false',
    ...(forTests ? [...management, 'collect_statistics_interval = 1000'] : []),
    ...config,
  );
  write('definitions.json', JSON.stringify(definitionsOf(node), undefined, 2));
  write('enabled_plugins', `[${forTests ? 'rabbitmq_management,rabbitmq_amqp1_0,' : ''}${shardsPlugin}].`);
  const urlOf = (user: string, password: string) => `amqp://${user}:${password}@127.0.0.1:${port}/${ours}`;
  return {
    url: urlOf(ours, password),
    producerUrl: urlOf(producerName, producerPassword),
    ...(forTests && { managementUrl: `http://${ours}:${password}@127.0.0.1:${managementPort}` }),
    env: { ...environmentOf(node, String(distPort)), ...(forTests ? {} : pluginsAlone(node)) },
  };
}

/**
 * A plugins folder with only the plugin that it runs: RabbitMQ searches every plugin's folder for each module, which costs a second per
 * start. Changes nothing if the plugins are not where Debian's and RabbitMQ's own packages put them.
 */
function pluginsAlone({ folder, program }: Node): NodeJS.ProcessEnv {
  const installed = globSync(join(dirname(realpathSync(program)), '../plugins', `{rabbit,${shardsPlugin}}-*`));
  const alone = join(folder, 'plugins');
  rmSync(alone, { recursive: true, force: true });
  for (const plugin of installed) symlinkSync(plugin, join(makeFolder(alone), basename(plugin)));
  return installed.length === 2 ? { RABBITMQ_PLUGINS_DIR: alone } : {};
}

/** Users, permissions and policies, as RabbitMQ imports them. The administrator's tag is for the management API. */
function definitionsOf({ password, producerPassword }: Node): object {
  return {
    vhosts: [{ name: ours }],
    users: [
      { name: ours, password, tags: 'administrator' },
      { name: producerName, password: producerPassword, tags: '' },
    ],
    permissions: [
      { user: ours, vhost: ours, configure: '.*', write: '.*', read: '.*' },
      { user: producerName, vhost: ours, ...producerPermissions },
    ],
    policies: [deadLettersPolicy, eventsPolicy].map((policy) => ({ vhost: ours, ...policy })),
  };
}

/** Contains nothing from our own environment, and replaces all the server's default paths with ours. */
function environmentOf({ name, folder, epmdPort }: Node, distPort: string): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    HOME: folder, // for its cookie
    LANG: 'C.UTF-8',
    ERL_EPMD_PORT: String(epmdPort),
    // For every Erlang that the server starts, including the one that only checks for the name service.
    ERL_ZFLAGS: '-start_epmd false -kernel inet_dist_use_interface {127,0,0,1}',
    RABBITMQ_NODENAME: name,
    RABBITMQ_CONFIG_FILE: join(folder, 'rabbitmq.conf'),
    RABBITMQ_CONFIG_FILES: join(folder, 'none', '*.conf'), // an earlier version left a file in `conf.d`
    RABBITMQ_ADVANCED_CONFIG_FILE: join(folder, 'advanced.config'),
    RABBITMQ_CONF_ENV_FILE: '/dev/null',
    RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'enabled_plugins'),
    RABBITMQ_MNESIA_BASE: join(folder, 'data'),
    RABBITMQ_LOG_BASE: join(folder, 'log'),
    RABBITMQ_DIST_PORT: distPort,
    // Makes the script exec the server instead of waiting for it, so that signals reach the server.
    RUNNING_UNDER_SYSTEMD: 'true',
  };
}

/** Starts Erlang's name service, which ends with its parent. */
export function nameServiceArgs(port: number): string[] {
  return [...endsWithUs('SIGTERM'), 'epmd', '-address', '127.0.0.1', '-port', String(port)];
}
