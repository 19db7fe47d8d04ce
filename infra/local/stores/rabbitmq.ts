/** RabbitMQ: on its default port, or a private instance. */
import { join } from 'node:path';
import { connect } from 'amqplib';
import { type Child, startChild } from '../processes/child.ts';
import { logFile } from '../processes/home.ts';
import { answers, freePort } from '../processes/ports.ts';
import { findProgram } from '../processes/programs.ts';
import {
  makePassword,
  type PrivateOptions,
  type PrivateStore,
  recallInstance,
  remember,
  waitUntilReady,
} from './private.ts';
import {
  environmentOf,
  makeNameService,
  type NodePorts,
  type Shared,
  urlsOf,
  vhostName,
  writeConfig,
} from './rabbitmq-node.ts';

export const rabbitmqPort = 5672;

export const readyTimeoutMs = 120_000;

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

/** The server's own script; Debian's wrapper in /usr/sbin wants to change the user. */
export function findRabbitmq(path?: string): string | undefined {
  return findProgram(['/usr/lib/rabbitmq/bin/rabbitmq-server', 'rabbitmq-server'], path);
}

/** A private instance of one node under `<home>/rabbitmq`. */
export async function prepareRabbitmq(program: string, options: PrivateOptions): Promise<PrivateStore> {
  const { home, management, signal, group } = options;
  const folder = join(home, 'rabbitmq');
  const known = await recallInstance<Shared & NodePorts>(folder, signal);
  const instance = { ...known, producerPassword: known.producerPassword ?? makePassword() };
  for (const key of ['managementPort', 'epmdPort', 'distPort'] as const) instance[key] = await freePort(instance[key]);
  const { port, managementPort, distPort } = instance;
  const node = { name: 'gatepost@localhost', folder, management, port, managementPort, distPort };
  writeConfig(instance, node);
  const { url, producerUrl, managementUrl } = urlsOf(instance, node);
  const log = logFile(home, 'rabbitmq');
  const env = environmentOf(instance, node, home);
  const names = makeNameService(instance, env, log);
  let server: Child | undefined;
  group.use({
    // In this order: a node that misses its name service looks for one.
    async [Symbol.asyncDispose]() {
      await server?.[Symbol.asyncDispose]();
      await names[Symbol.asyncDispose]();
    },
  });
  return {
    url,
    producerUrl,
    ...(management ? { managementUrl } : {}),
    async launch() {
      signal.throwIfAborted();
      const nameService = await names.start(signal);
      signal.throwIfAborted();
      server = startServer({ name: 'RabbitMQ', program, folder, env, log });
      remember(folder, instance, nameService ? [server, nameService] : [server]);
      const isReady = async () => (await letsIn(url)) && letsIn(producerUrl);
      return waitUntilReady(server, isReady, readyTimeoutMs, signal);
    },
  };
}

export function startServer({
  name,
  program,
  folder,
  env,
  log,
}: {
  name: string;
  program: string;
  folder: string;
  env: NodeJS.ProcessEnv;
  log: string;
}): Child {
  return startChild({ name, command: program, args: [], env, cwd: folder, log, stopDeadlineMs: 20_000 });
}
