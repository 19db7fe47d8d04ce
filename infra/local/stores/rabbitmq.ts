/** RabbitMQ: on its default port, or a private instance. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deadLettersPolicy, producerPermissions } from '@gatepost/contracts/topology';
import { connect } from 'amqplib';
import { type Child, startChild } from '../processes/child.ts';
import { logFile, writePrivate } from '../processes/home.ts';
import { answers, freePort } from '../processes/ports.ts';
import { expandVersions, findProgram } from '../processes/programs.ts';
import { waitFor } from '../processes/wait.ts';
import {
  type Instance,
  makePassword,
  type PrivateOptions,
  type PrivateStore,
  recallInstance,
  remember,
  waitUntilReady,
} from './private.ts';

export const rabbitmqPort = 5672;
export const vhostName = 'gatepost';

const readyTimeoutMs = 120_000;
const maxMessageBytes = 128 * 1024 * 1024;

/** The URL of a broker on the port that lets `guest` in: in a vhost of our own if there is one, else in the default one. */
export async function probeRabbitmq(port = rabbitmqPort): Promise<string | undefined> {
  if (!(await answers(port))) return undefined;
  const shared = `amqp://guest:guest@127.0.0.1:${port}`;
  for (const url of [`${shared}/${vhostName}`, shared]) if (await letsIn(url)) return url;
  return undefined;
}

/** Does the broker open a connection for that user in that vhost? */
export async function letsIn(url: string): Promise<boolean> {
  try {
    const connection = await connect(url, { timeout: 3_000 });
    connection.on('error', () => {}); // it is closed next anyway
    await connection.close();
    return true;
  } catch {
    return false;
  }
}

const producerName = 'producer';
const everything = { configure: '.*', write: '.*', read: '.*' };

/** The server's own script; Debian's wrapper in /usr/sbin wants to change the user. */
export function findRabbitmq(path?: string): string | undefined {
  return findProgram(['/usr/lib/rabbitmq/bin/rabbitmq-server', 'rabbitmq-server'], path);
}

type Rabbitmq = Instance & {
  managementPort: number;
  /** Erlang's name service and the node's own port: nothing of ours uses them, but no node starts without. */
  epmdPort: number;
  distPort: number;
  user: string;
  producerPassword: string;
};

/** A private instance under `<home>/rabbitmq`. */
export async function prepareRabbitmq(program: string, options: PrivateOptions): Promise<PrivateStore> {
  const folder = join(options.home, 'rabbitmq');
  const known = await recallInstance<Rabbitmq>(folder, options.signal);
  const instance = { ...known, user: 'gatepost', producerPassword: known.producerPassword ?? makePassword() };
  for (const key of ['managementPort', 'epmdPort', 'distPort'] as const) instance[key] = await freePort(instance[key]);
  const at = `127.0.0.1:${instance.port}/${vhostName}`;
  const url = `amqp://${instance.user}:${instance.password}@${at}`;
  const producerUrl = `amqp://${producerName}:${instance.producerPassword}@${at}`;
  const managementUrl = `http://${instance.user}:${instance.password}@127.0.0.1:${instance.managementPort}`;
  writeConfig(folder, instance, options.management);
  const log = logFile(options.home, 'rabbitmq');
  const epmd = findNameService();
  const env = environment(folder, instance, options.home, epmd !== undefined);
  let names: Child | undefined;
  let node: Child | undefined;
  options.group.use({
    // In this order: a node that misses its name service looks for one.
    async [Symbol.asyncDispose]() {
      await node?.[Symbol.asyncDispose]();
      await names?.[Symbol.asyncDispose]();
    },
  });
  return {
    url,
    producerUrl,
    ...(options.management ? { managementUrl } : {}),
    async launch() {
      options.signal.throwIfAborted();
      if (epmd && (!names || names.hasExited())) {
        const args = ['-address', '127.0.0.1', '-port', String(instance.epmdPort)];
        names = startChild({ name: 'epmd', command: epmd, args, env, log, cwd: '/' });
        await waitFor(async () => ((await answers(instance.epmdPort)) ? true : undefined), 5_000, options.signal);
      }
      options.signal.throwIfAborted();
      node = startChild({
        name: 'RabbitMQ',
        command: program,
        args: [],
        env,
        cwd: folder,
        log,
        stopDeadlineMs: 20_000,
      });
      remember(folder, instance, names ? [node, names] : [node]);
      const isReady = async () => (await letsIn(url)) && letsIn(producerUrl);
      return waitUntilReady(node, isReady, readyTimeoutMs, options.signal);
    },
  };
}

/** Erlang's name service, to be a child of ours: one that the node starts for itself would outlive it. */
function findNameService(): string | undefined {
  return findProgram(['epmd', ...expandVersions('/usr/lib/erlang/erts-*/bin').map((bin) => join(bin, 'epmd'))]);
}

function writeConfig(folder: string, instance: Rabbitmq, management: boolean): void {
  for (const name of ['data', 'log']) mkdirSync(join(folder, name), { recursive: true, mode: 0o700 });
  const config = [
    `listeners.tcp.1 = 127.0.0.1:${instance.port}`,
    `default_vhost = ${vhostName}`,
    // Read at every start: what an earlier version made gets what it lacks.
    `load_definitions = ${join(folder, 'definitions.json')}`,
    `loopback_users.${instance.user} = true`,
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
          `management.tcp.port = ${instance.managementPort}`,
          'collect_statistics_interval = 1000',
        ]
      : []),
  ];
  writeFileSync(join(folder, 'rabbitmq.conf'), `${config.join('\n')}\n`, { mode: 0o600 });
  writePrivate(join(folder, 'definitions.json'), JSON.stringify(definitionsOf(instance, management), undefined, 2));
  writeFileSync(join(folder, 'enabled_plugins'), management ? '[rabbitmq_management,rabbitmq_amqp1_0].\n' : '[].\n', {
    mode: 0o600,
  });
  // Names are looked up here and nowhere else: no helper process for it, and no surprise from the machine's own tables.
  writeFileSync(join(folder, 'inetrc'), '{host, {127,0,0,1}, ["localhost"]}.\n{lookup, [file]}.\n', { mode: 0o600 });
}

/** Users, their permissions and policies, as RabbitMQ imports them. */
function definitionsOf({ user, password, producerPassword }: Rabbitmq, management: boolean): object {
  return {
    vhosts: [{ name: vhostName }],
    users: [
      { name: user, password, tags: management ? 'administrator' : '' },
      { name: producerName, password: producerPassword, tags: '' },
    ],
    permissions: [
      { user, vhost: vhostName, ...everything },
      { user: producerName, vhost: vhostName, ...producerPermissions },
    ],
    policies: [{ vhost: vhostName, ...deadLettersPolicy }],
  };
}

/** Every place that the server would look at by default is replaced by one in our folder. */
function environment(folder: string, instance: Rabbitmq, home: string, ownNames: boolean): NodeJS.ProcessEnv {
  const machine = Object.entries(process.env).filter(
    ([name]) => !/^(RABBITMQ_|ERL_|ERLANG_|NOTIFY_SOCKET$|LOG_LEVEL$)/.test(name),
  );
  return {
    ...Object.fromEntries(machine),
    HOME: folder, // its cookie
    LANG: 'C.UTF-8',
    ERL_EPMD_PORT: String(instance.epmdPort),
    ERL_EPMD_ADDRESS: '127.0.0.1',
    // For every Erlang that the server starts, the one that only looks for the name service included.
    ...(ownNames ? { ERL_ZFLAGS: '-start_epmd false' } : {}),
    ERL_INETRC: join(folder, 'inetrc'),
    ERL_CRASH_DUMP: join(home, 'logs', 'rabbitmq-crash.dump'),
    RABBITMQ_NODENAME: 'gatepost@localhost',
    RABBITMQ_CONFIG_FILE: join(folder, 'rabbitmq.conf'),
    RABBITMQ_CONFIG_FILES: join(folder, 'conf.d', '*.conf'),
    RABBITMQ_ADVANCED_CONFIG_FILE: join(folder, 'advanced.config'),
    RABBITMQ_CONF_ENV_FILE: '/dev/null',
    RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'enabled_plugins'),
    RABBITMQ_MNESIA_BASE: join(folder, 'data'),
    RABBITMQ_LOG_BASE: join(folder, 'log'),
    RABBITMQ_PID_FILE: join(folder, 'pid'),
    RABBITMQ_DIST_PORT: String(instance.distPort),
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '-kernel inet_dist_use_interface {127,0,0,1}',
    // The script then becomes the server instead of waiting for it, and a signal reaches the server itself.
    RUNNING_UNDER_SYSTEMD: 'true',
  };
}
