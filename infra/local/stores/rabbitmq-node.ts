/** One node of a private RabbitMQ: its files, its environment, and Erlang's name service beside it. */
import { globSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { deadLettersPolicy, eventsPolicy, producerPermissions } from '@gatepost/contracts/topology';
import { freePorts } from '@gatepost/testkit/system';
import { endsWithUs } from '../processes/child.ts';
import { makeFolder, writePrivate } from '../processes/home.ts';
import { findProgram, newestFirst } from '../processes/programs.ts';
import type { Instance, PrivateOptions } from './private.ts';

export const vhostName = 'gatepost';
const shardsPlugin = 'rabbitmq_consistent_hash_exchange';
const producerName = 'producer';
const userName = 'gatepost';
const everything = { configure: '.*', write: '.*', read: '.*' };
const onLoopback = '-kernel inet_dist_use_interface {127,0,0,1}';

export type Node = Instance & {
  /** Erlang's, such as `gatepost@localhost`. */
  name: string;
  folder: string;
  /** The server's. */
  program: string;
  /** Of a cluster. */
  further?: { config: string[]; cookie: string };
};

/** Writes what the server reads at its start. Answers where it is reached then, and what its environment is. */
export async function prepareNode(node: Node, { home, management }: Pick<PrivateOptions, 'home' | 'management'>) {
  const [managementPort, distPort] = await freePorts(2);
  const { folder, password, producerPassword, further } = node;
  for (const name of ['data', 'log']) makeFolder(join(folder, name));
  const file = (name: string, lines: string[]) => writePrivate(join(folder, name), `${lines.join('\n')}\n`);
  const plugins = [shardsPlugin];
  // Beside what each node is told (rabbitmq.conf).
  const config = [
    `listeners.tcp.1 = 127.0.0.1:${node.port}`,
    // Read at every start: what an earlier version made gets what it lacks.
    `load_definitions = ${join(folder, 'definitions.json')}`,
  ];
  if (management) {
    plugins.push('rabbitmq_management', 'rabbitmq_amqp1_0');
    config.push('management.tcp.ip = 127.0.0.1', `management.tcp.port = ${managementPort}`);
    config.push('collect_statistics_interval = 1000');
  }
  file('conf.d/node.conf', [...config, ...(further?.config ?? [])]);
  file('definitions.json', [JSON.stringify(definitionsOf(node, management), undefined, 2)]);
  file('enabled_plugins', [`[${plugins.join()}].`]);
  if (further) writePrivate(join(folder, '.erlang.cookie'), further.cookie);
  const at = `127.0.0.1:${node.port}/${vhostName}`;
  return {
    url: `amqp://${userName}:${password}@${at}`,
    producerUrl: `amqp://${producerName}:${producerPassword}@${at}`,
    managementUrl: `http://${userName}:${password}@127.0.0.1:${managementPort}`,
    env: { ...environmentOf(node, home, String(distPort)), ...(management ? {} : pluginsAlone(node)) },
  };
}

/**
 * A folder of the one plugin that it runs. RabbitMQ looks for each of its modules in the folder of every plugin that comes with it first: 50,000 files
 * that are not there, a part of each start. Other installations than Debian's and RabbitMQ's own keep their plugins elsewhere; there nothing changes.
 */
function pluginsAlone({ folder, program }: Node): NodeJS.ProcessEnv {
  const plugins = globSync(join(dirname(realpathSync(program)), '../plugins', `{rabbit,${shardsPlugin}}-*`));
  if (plugins.length !== 2) return {};
  const alone = join(folder, 'plugins');
  rmSync(alone, { recursive: true, force: true });
  makeFolder(alone);
  for (const plugin of plugins) symlinkSync(plugin, join(alone, basename(plugin)));
  return { RABBITMQ_PLUGINS_DIR: alone };
}

/** Users, their permissions and policies, as RabbitMQ imports them. */
function definitionsOf({ password, producerPassword }: Node, management: boolean): object {
  const vhost = vhostName;
  return {
    vhosts: [{ name: vhost }],
    users: [
      { name: userName, password, tags: management ? 'administrator' : '' },
      { name: producerName, password: producerPassword, tags: '' },
    ],
    permissions: [
      { user: userName, vhost, ...everything },
      { user: producerName, vhost, ...producerPermissions },
    ],
    policies: [deadLettersPolicy, eventsPolicy].map((policy) => ({ vhost, ...policy })),
  };
}

/** Nothing of our own environment, and every place that the server would look at by default is replaced by one of ours. */
function environmentOf({ name, folder, epmdPort }: Node, home: string, distPort: string): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    HOME: folder, // its cookie
    LANG: 'C.UTF-8',
    ERL_EPMD_PORT: String(epmdPort),
    ERL_EPMD_ADDRESS: '127.0.0.1',
    // For every Erlang that the server starts, the one that only looks for the name service included.
    ERL_ZFLAGS: '-start_epmd false',
    ERL_INETRC: join(import.meta.dirname, 'inetrc'),
    ERL_CRASH_DUMP: join(home, 'logs', 'rabbitmq-crash.dump'),
    RABBITMQ_NODENAME: name,
    RABBITMQ_CONFIG_FILE: join(import.meta.dirname, 'rabbitmq.conf'),
    RABBITMQ_CONFIG_FILES: join(folder, 'conf.d', '*.conf'),
    RABBITMQ_ADVANCED_CONFIG_FILE: join(folder, 'advanced.config'),
    RABBITMQ_CONF_ENV_FILE: '/dev/null',
    RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'enabled_plugins'),
    RABBITMQ_MNESIA_BASE: join(folder, 'data'),
    RABBITMQ_LOG_BASE: join(folder, 'log'),
    RABBITMQ_DIST_PORT: distPort,
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: onLoopback,
    RABBITMQ_CTL_ERL_ARGS: onLoopback,
    // The script then becomes the server instead of waiting for it, and a signal reaches the server itself.
    RUNNING_UNDER_SYSTEMD: 'true',
  };
}

/** What starts Erlang's name service. It ends with its parent. */
export function nameServiceArgs(port: number): string[] {
  const program = findProgram(['epmd', ...newestFirst('/usr/lib/erlang/erts-*/bin/epmd')]) ?? 'epmd';
  return [...endsWithUs('TERM'), program, '-address', '127.0.0.1', '-port', String(port)];
}
