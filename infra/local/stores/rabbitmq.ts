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

const vhostName = 'gatepost';
const shardsPlugin = 'rabbitmq_consistent_hash_exchange';
const producerName = 'producer';
const userName = 'gatepost';
const everything = { configure: '.*', write: '.*', read: '.*' };
const onLoopback = '-kernel inet_dist_use_interface {127,0,0,1}';

export const rabbitmq: StoreKind = {
  name: 'RabbitMQ',
  variable: 'AMQP_URL',
  service: 'rabbitmq',
  package: 'rabbitmq-server',
  /** The server's own script first; Debian's wrapper in /usr/sbin wants to change the user. */
  programs: () => ['/usr/lib/rabbitmq/bin/rabbitmq-server', 'rabbitmq-server'],
  /** As `guest`: in our own vhost if there is one, else in the default one. */
  usual: (_env, port = 5672) =>
    [vhostName, ''].map((vhost) => new URL(vhost, `amqp://guest:guest@127.0.0.1:${port}`).href),
  letsIn,
  async prepare(program, options) {
    const instance = await recallInstance(options, 'rabbitmq');
    const node = { name: 'gatepost@localhost', program, ...instance };
    const { env, managementUrl, ...urls } = await prepareNode(node, options);
    const launch = launcher(options, {
      name: 'RabbitMQ',
      // With a name service that ends with it; one started by the node itself would outlive it.
      command: '/bin/sh',
      args: ['-c', '"$@" & exec "$0"', program, ...nameServiceArgs(instance.epmdPort)],
      env,
      cwd: instance.folder,
      letsIn: async () => (await letsIn(urls.url)) && letsIn(urls.producerUrl),
    });
    return { ...urls, ...(options.forTests && { managementUrl }), launch };
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

/** Does the broker let that user connect to that vhost? */
async function letsIn(url: string): Promise<boolean> {
  return withConnection(url, async () => true).catch(() => false);
}

async function withConnection<T>(url: string, work: (connection: ChannelModel) => Promise<T>): Promise<T> {
  // A node that has just started is slow on a busy machine; RabbitMQ itself ends a handshake after 10 s.
  const connection = await connect(url, { timeout: 10_000 });
  connection.on('error', () => {}); // failed calls reject
  try {
    return await work(connection);
  } finally {
    await connection.close();
  }
}

export type Node = {
  /** Erlang's, such as `gatepost@localhost`. */
  name: string;
  folder: string;
  /** The server's. */
  program: string;
  port: number;
  epmdPort: number;
  password: string;
  producerPassword: string;
  /** In a cluster. */
  further?: { config: string[]; cookie: string };
};

/** Writes the server's configuration. Returns its URLs and its environment. */
export async function prepareNode(node: Node, { forTests = false }: Pick<PrivateOptions, 'forTests'>) {
  const [managementPort, distPort] = await freePorts(2);
  const { folder, port, password, producerPassword, further } = node;
  const file = (name: string, lines: string[]) => writePrivate(join(folder, name), `${lines.join('\n')}\n`);
  const plugins = [shardsPlugin];
  const config = [
    `listeners.tcp.1 = 127.0.0.1:${port}`,
    // Imported at every start, to add what data of an earlier version lacks.
    `load_definitions = ${join(folder, 'definitions.json')}`,
    'max_message_size = 134217728', // an event may be 25 MB; RabbitMQ 4 takes 16 MiB by default
    'log.console = true',
    'log.console.level = warning',
    'log.file = false',
  ];
  if (forTests) {
    plugins.push('rabbitmq_management', 'rabbitmq_amqp1_0');
    config.push('management.tcp.ip = 127.0.0.1', `management.tcp.port = ${managementPort}`);
    config.push('collect_statistics_interval = 1000');
  }
  file('rabbitmq.conf', [...config, ...(further?.config ?? [])]);
  file('definitions.json', [JSON.stringify(definitionsOf(node, forTests), undefined, 2)]);
  file('enabled_plugins', [`[${plugins.join()}].`]);
  if (further) writePrivate(join(folder, '.erlang.cookie'), further.cookie);
  const at = `127.0.0.1:${port}/${vhostName}`;
  return {
    url: `amqp://${userName}:${password}@${at}`,
    producerUrl: `amqp://${producerName}:${producerPassword}@${at}`,
    managementUrl: `http://${userName}:${password}@127.0.0.1:${managementPort}`,
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

/** Users, permissions and policies, as RabbitMQ imports them. */
function definitionsOf({ password, producerPassword }: Node, isAdministrator: boolean): object {
  const vhost = vhostName;
  return {
    vhosts: [{ name: vhost }],
    users: [
      { name: userName, password, tags: isAdministrator ? 'administrator' : '' },
      { name: producerName, password: producerPassword, tags: '' },
    ],
    permissions: [
      { user: userName, vhost, ...everything },
      { user: producerName, vhost, ...producerPermissions },
    ],
    policies: [deadLettersPolicy, eventsPolicy].map((policy) => ({ vhost, ...policy })),
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
    ERL_ZFLAGS: '-start_epmd false',
    RABBITMQ_NODENAME: name,
    RABBITMQ_CONFIG_FILE: join(folder, 'rabbitmq.conf'),
    RABBITMQ_CONFIG_FILES: join(folder, 'none', '*.conf'), // an earlier version left a file in `conf.d`
    RABBITMQ_ADVANCED_CONFIG_FILE: join(folder, 'advanced.config'),
    RABBITMQ_CONF_ENV_FILE: '/dev/null',
    RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'enabled_plugins'),
    RABBITMQ_MNESIA_BASE: join(folder, 'data'),
    RABBITMQ_LOG_BASE: join(folder, 'log'),
    RABBITMQ_DIST_PORT: distPort,
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: onLoopback,
    RABBITMQ_CTL_ERL_ARGS: onLoopback,
    // Makes the script exec the server instead of waiting for it, so that signals reach the server.
    RUNNING_UNDER_SYSTEMD: 'true',
  };
}

/** Starts Erlang's name service, which ends with its parent. */
export function nameServiceArgs(port: number): string[] {
  return [...endsWithUs('TERM'), 'epmd', '-address', '127.0.0.1', '-port', String(port)];
}
