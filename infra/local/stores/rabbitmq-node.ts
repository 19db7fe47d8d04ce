/** One node of a private RabbitMQ: its files, its environment, and Erlang's name service beside it. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deadLettersPolicy, eventsPolicy, producerPermissions } from '@gatepost/contracts/topology';
import { type Child, startChild } from '../processes/child.ts';
import { writePrivate } from '../processes/home.ts';
import { answers } from '../processes/ports.ts';
import { expandVersions, findProgram } from '../processes/programs.ts';
import { waitFor } from '../processes/wait.ts';
import type { Instance } from './private.ts';

export const vhostName = 'gatepost';
const producerName = 'producer';
const userName = 'gatepost';
const maxMessageBytes = 128 * 1024 * 1024;
const everything = { configure: '.*', write: '.*', read: '.*' };

/** What the nodes of one RabbitMQ share. */
export type Shared = Instance & {
  /** Erlang's name service: nothing of ours uses it, but no node starts without. */
  epmdPort: number;
  producerPassword: string;
};

export type NodePorts = {
  port: number;
  managementPort: number;
  /** Where other nodes reach it; a single one has it too. */
  distPort: number;
};

export type Node = NodePorts & {
  /** Erlang's, such as `gatepost@localhost`. */
  name: string;
  folder: string;
  management: boolean;
  /** The node whose cluster it joins when it starts for the first time, and the cookie that all nodes of it have. */
  cluster?: { first: string; cookie: string };
};

export function urlsOf(shared: Shared, { port, managementPort }: NodePorts) {
  const at = `127.0.0.1:${port}/${vhostName}`;
  return {
    url: `amqp://${userName}:${shared.password}@${at}`,
    producerUrl: `amqp://${producerName}:${shared.producerPassword}@${at}`,
    managementUrl: `http://${userName}:${shared.password}@127.0.0.1:${managementPort}`,
  };
}

/** Writes what the server reads at its start. */
export function writeConfig(shared: Shared, { folder, management, cluster, ...ports }: Node): void {
  for (const name of ['data', 'log']) mkdirSync(join(folder, name), { recursive: true, mode: 0o700 });
  const config = [
    `listeners.tcp.1 = 127.0.0.1:${ports.port}`,
    `default_vhost = ${vhostName}`,
    // Read at every start: what an earlier version made gets what it lacks.
    `load_definitions = ${join(folder, 'definitions.json')}`,
    `loopback_users.${userName} = true`,
    `loopback_users.${producerName} = true`,
    `max_message_size = ${maxMessageBytes}`,
    // The default, half of the machine's memory, is for a machine of its own.
    'vm_memory_high_watermark.relative = 0.4',
    'disk_free_limit.absolute = 200MB',
    'log.console = true',
    'log.console.level = warning',
    'log.file = false',
    ...(management
      ? [
          'management.tcp.ip = 127.0.0.1',
          `management.tcp.port = ${ports.managementPort}`,
          'collect_statistics_interval = 1000',
        ]
      : []),
    ...(cluster
      ? [
          'cluster_formation.peer_discovery_backend = classic_config',
          `cluster_formation.classic_config.nodes.1 = ${cluster.first}`,
          'cluster_partition_handling = pause_minority',
          // After how many seconds a node that answers nothing counts as gone; the default, 60, is for networks that are worse.
          'net_ticktime = 5',
        ]
      : []),
  ];
  writeFileSync(join(folder, 'rabbitmq.conf'), `${config.join('\n')}\n`, { mode: 0o600 });
  writePrivate(join(folder, 'definitions.json'), JSON.stringify(definitionsOf(shared, management), undefined, 2));
  const plugins = [
    'rabbitmq_consistent_hash_exchange',
    ...(management ? ['rabbitmq_management', 'rabbitmq_amqp1_0'] : []),
  ];
  writeFileSync(join(folder, 'enabled_plugins'), `[${plugins.join()}].\n`, { mode: 0o600 });
  // Names are looked up here and nowhere else: no helper process for it, and no surprise from the machine's own tables.
  writeFileSync(join(folder, 'inetrc'), '{host, {127,0,0,1}, ["localhost"]}.\n{lookup, [file]}.\n', { mode: 0o600 });
  if (cluster) writePrivate(join(folder, '.erlang.cookie'), cluster.cookie);
}

/** Users, their permissions and policies, as RabbitMQ imports them. */
function definitionsOf({ password, producerPassword }: Shared, management: boolean): object {
  return {
    vhosts: [{ name: vhostName }],
    users: [
      { name: userName, password, tags: management ? 'administrator' : '' },
      { name: producerName, password: producerPassword, tags: '' },
    ],
    permissions: [
      { user: userName, vhost: vhostName, ...everything },
      { user: producerName, vhost: vhostName, ...producerPermissions },
    ],
    policies: [deadLettersPolicy, eventsPolicy].map((policy) => ({ vhost: vhostName, ...policy })),
  };
}

/** Every place that the server would look at by default is replaced by one in our folder. */
export function environmentOf(shared: Shared, { name, folder, distPort }: Node, home: string): NodeJS.ProcessEnv {
  const machine = Object.entries(process.env).filter(
    ([variable]) => !/^(RABBITMQ_|ERL_|ERLANG_|NOTIFY_SOCKET$|LOG_LEVEL$)/.test(variable),
  );
  const onLoopback = '-kernel inet_dist_use_interface {127,0,0,1}';
  return {
    ...Object.fromEntries(machine),
    HOME: folder, // its cookie
    LANG: 'C.UTF-8',
    ERL_EPMD_PORT: String(shared.epmdPort),
    ERL_EPMD_ADDRESS: '127.0.0.1',
    // For every Erlang that the server starts, the one that only looks for the name service included.
    ...(findNameService() ? { ERL_ZFLAGS: '-start_epmd false' } : {}),
    ERL_INETRC: join(folder, 'inetrc'),
    ERL_CRASH_DUMP: join(home, 'logs', 'rabbitmq-crash.dump'),
    RABBITMQ_NODENAME: name,
    RABBITMQ_CONFIG_FILE: join(folder, 'rabbitmq.conf'),
    RABBITMQ_CONFIG_FILES: join(folder, 'conf.d', '*.conf'),
    RABBITMQ_ADVANCED_CONFIG_FILE: join(folder, 'advanced.config'),
    RABBITMQ_CONF_ENV_FILE: '/dev/null',
    RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'enabled_plugins'),
    RABBITMQ_MNESIA_BASE: join(folder, 'data'),
    RABBITMQ_LOG_BASE: join(folder, 'log'),
    RABBITMQ_PID_FILE: join(folder, 'pid'),
    RABBITMQ_DIST_PORT: String(distPort),
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: onLoopback,
    RABBITMQ_CTL_ERL_ARGS: onLoopback,
    // The script then becomes the server instead of waiting for it, and a signal reaches the server itself.
    RUNNING_UNDER_SYSTEMD: 'true',
  };
}

export type NameService = AsyncDisposable & {
  /** Starts it, unless it runs. Answers its process, if it is one of ours. */
  start(signal: AbortSignal): Promise<Child | undefined>;
};

/** Erlang's name service as a child of ours: one that a node starts for itself would outlive it. */
export function makeNameService({ epmdPort }: Shared, env: NodeJS.ProcessEnv, log: string): NameService {
  const command = findNameService();
  let child: Child | undefined;
  return {
    async start(signal) {
      if (command && (!child || child.hasExited())) {
        const args = ['-address', '127.0.0.1', '-port', String(epmdPort)];
        child = startChild({ name: 'epmd', command, args, env, log, cwd: '/' });
        await waitFor(async () => ((await answers(epmdPort)) ? true : undefined), 5_000, signal);
      }
      return child;
    },
    async [Symbol.asyncDispose]() {
      await child?.[Symbol.asyncDispose]();
    },
  };
}

function findNameService(): string | undefined {
  return findProgram(['epmd', ...expandVersions('/usr/lib/erlang/erts-*/bin').map((bin) => join(bin, 'epmd'))]);
}
