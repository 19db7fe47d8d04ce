/**
 * What all three kinds of stores are, and what those that we start share: a folder with the port and the passwords that stay the
 * same from start to start (`instance.json`), and a server of ours.
 */
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { freePorts } from '@gatepost/testkit/system';
import type { Context } from '../commands/command.ts';
import type { Child } from '../processes/child.ts';
import { makeFolder, readJson, writePrivate } from '../processes/home.ts';
import { answers, holderOf } from '../processes/ports.ts';
import { Trouble } from '../processes/trouble.ts';
import { waitFor } from '../processes/wait.ts';

/** What is known of one kind of store. */
export type StoreKind = {
  name: 'RabbitMQ' | 'PostgreSQL' | 'Redis';
  /** The variable that holds its URL. */
  variable: 'AMQP_URL' | 'DATABASE_URL' | 'REDIS_URL';
  /** In docker-compose.yml; its folder has the same name. */
  service: 'rabbitmq' | 'postgres' | 'redis';
  /** Debian's. */
  package: string;
  /** The names or paths of its server, best first. */
  programs(): string[];
  /** Where one that runs on this machine may let us in. */
  usual(env: NodeJS.ProcessEnv, port?: number): string[];
  /** @param make the database, if there is none */
  letsIn(url: string, make?: boolean): Promise<boolean>;
  /** A private instance under `<home>/<service>`, not yet started. */
  prepare(program: string, options: PrivateOptions): Promise<PrivateStore>;
  /** Drops what is ours of a store that others may use too. */
  drop(url: string, env: NodeJS.ProcessEnv): Promise<void>;
};

/** How stores that we start shall be run. `home` holds a folder for each, and `logs`. */
export type PrivateOptions = Pick<Context, 'home' | 'say' | 'signal' | 'stack'> & {
  /** Their data are dropped first. Ports and passwords stay: producers, and whoever looks into a store, have their URLs. */
  fresh?: boolean;
  /** Nobody wants the data after this command: they may be lost, or lie in memory. RabbitMQ has its management API, which makes vhosts. */
  forTests?: boolean;
};

/** Where a store is reached. */
export type Located = {
  url: string;
  /** RabbitMQ's for producers, who may write to the exchange and nothing else. */
  producerUrl?: string;
  managementUrl?: string;
};

/** `launch` starts the server and waits until it lets us in. May be called again when it has died. */
export type PrivateStore = Located & { launch(): Promise<Child> };

/** What stays from start to start. RabbitMQ's name service, which has `epmdPort`, ends with its node. */
type Instance = Record<'port' | 'epmdPort', number> & Record<'password' | 'producerPassword', string>;

/** What is remembered of an instance, or made at its first start; and its folder. */
export async function recallInstance({ home, fresh, signal }: PrivateOptions, service: StoreKind['service']) {
  const folder = join(home, service);
  const file = join(folder, 'instance.json');
  const known = readJson<Instance>(file);
  const [port = 0, epmdPort = 0] = known ? [known.port, known.epmdPort] : await freePorts(2);
  for (const one of [port, epmdPort]) await released(one, signal);
  if (fresh) rmSync(folder, { recursive: true, force: true });
  const instance = known ?? { port, epmdPort, password: makePassword(), producerPassword: makePassword() };
  writePrivate(file, JSON.stringify(instance, undefined, 2));
  return { ...instance, folder: makeFolder(folder) };
}

/** The server of a command that was killed outright is told so by the kernel, and takes a while to end. */
async function released(port: number, signal: AbortSignal): Promise<void> {
  if (await waitFor(async () => !(await answers(port)) || undefined, 20_000, signal)) return;
  throw new Trouble(
    `Port ${port} of a private store is taken by ${await holderOf(port)}.`,
    'Stop the command that runs with the same folder, or take another with GATEPOST_HOME.',
  );
}

/** Letters and digits only, good in any URL and any configuration file. */
export const makePassword = () => randomBytes(24).toString('hex');
