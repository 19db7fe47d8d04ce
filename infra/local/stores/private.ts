/**
 * What all three kinds of stores are, and what their private instances share: a folder with the port and the passwords that stay the
 * same from start to start (`instance.json`), and a server of ours.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Say } from '../commands/say.ts';
import { type Child, type ChildOptions, type Group, startChild } from '../processes/child.ts';
import { logEnd, logFile, makeFolder, readJson, writePrivate } from '../processes/home.ts';
import { findHolder, freePort, isFree } from '../processes/ports.ts';
import { Trouble } from '../processes/trouble.ts';
import { waitFor } from '../processes/wait.ts';

export type StoreName = 'RabbitMQ' | 'PostgreSQL' | 'Redis';

/** What is known of one kind of store. */
export type StoreKind = {
  name: StoreName;
  /** The variable that holds its URL. */
  variable: 'AMQP_URL' | 'DATABASE_URL' | 'REDIS_URL';
  /** In docker-compose.yml; its folder has the same name. */
  service: 'rabbitmq' | 'postgres' | 'redis';
  /** Debian's. */
  package: string;
  /** The URL of what answers on the local port and lets us in. */
  probe(env: NodeJS.ProcessEnv, port?: number): Promise<string | undefined>;
  letsIn(url: string): Promise<boolean>;
  /** The installed server. */
  find(path?: string): string | undefined;
  /** A private instance under `<home>/<service>`, not yet started. */
  prepare(program: string, options: PrivateOptions): Promise<PrivateStore>;
  /** Drops what is ours of a store that others may use too. */
  drop(url: string, env: NodeJS.ProcessEnv): Promise<void>;
};

/** How private stores shall be run. */
export type PrivateOptions = {
  /** Holds a folder for each store, and `logs`. */
  home: string;
  /** False under test: PostgreSQL need not survive a power cut, Redis keeps nothing. */
  durable: boolean;
  /** RabbitMQ's management API: the tests make their vhosts with it. */
  management: boolean;
  signal: AbortSignal;
  /** Takes every process when it is started, and closes it at the end. */
  group: Group;
  say: Say;
};

/** Where a store is reached. */
export type Address = {
  url: string;
  /** RabbitMQ's for producers, who may write to the exchange and nothing else. */
  producerUrl?: string;
  managementUrl?: string;
};

export type PrivateStore = Address & {
  /** Starts the server and waits until it lets us in. May be called again when it has died. */
  launch(): Promise<Child>;
};

export type Instance = {
  port: number;
  /** Of RabbitMQ's name service, which ends after the server. */
  epmdPort: number;
  password: string;
  producerPassword: string;
};

/** What is remembered of an instance, or made at its first start. */
export async function recallInstance(folder: string, signal: AbortSignal): Promise<Instance> {
  const known = readJson<Partial<Instance>>(instanceFile(makeFolder(folder)));
  const port = await released(known?.port, signal);
  const epmdPort = await released(known?.epmdPort, signal);
  const instance = { password: makePassword(), producerPassword: makePassword(), ...known, port, epmdPort };
  writePrivate(instanceFile(folder), JSON.stringify(instance, undefined, 2));
  return instance;
}

/** The server of a command that was killed outright is told so by the kernel, and takes a while to end. */
async function released(port: number | undefined, signal: AbortSignal): Promise<number> {
  if (!port) return freePort();
  if (await waitFor(async () => (await isFree(port)) || undefined, 20_000, signal)) return port;
  const holder = await findHolder(port);
  throw new Trouble(
    `Port ${port} of a private store is taken by ${holder ? `process ${holder.pid} (${holder.command})` : 'another process'}.`,
    'Stop the command that runs with the same folder, or take another with GATEPOST_HOME.',
  );
}

/** Letters and digits only, good in any URL and any configuration file. */
export function makePassword(): string {
  return randomBytes(24).toString('hex');
}

type Server = Omit<ChildOptions, 'log'> & { log: string; letsIn(): Promise<boolean> };

/** Starts a server and waits until it lets us in. @throws Trouble with the end of its log when it ends or takes two minutes. */
export async function launch(
  { home, group, signal }: PrivateOptions,
  { letsIn, log, ...server }: Server,
): Promise<Child> {
  signal.throwIfAborted();
  const child = group.use(startChild({ stopDeadlineMs: 20_000, ...server, log: logFile(home, log) }));
  const probe = async () =>
    child.hasExited() ? 'ended while it was starting' : (await letsIn()) ? 'ready' : undefined;
  const outcome = (await waitFor(probe, 120_000, signal)) ?? 'did not start within two minutes';
  if (outcome === 'ready') return child;
  throw new Trouble(`${child.name} ${outcome}; the end of ${child.log}:`, ...logEnd(child.log));
}

/** Where an instance is remembered. */
export function instanceFile(folder: string): string {
  return join(folder, 'instance.json');
}
