/**
 * What private instances of all three stores share: a folder with what must stay the same from start to start (ports and
 * passwords, in `instance.json`), and the processes of a run that was killed before it could stop them.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Say } from '../commands/say.ts';
import type { Child, Group } from '../processes/child.ts';
import { bornAt, isSame, logEnd, makeFolder, type Owner, readJson, writePrivate } from '../processes/home.ts';
import { freePort } from '../processes/ports.ts';
import { Trouble } from '../processes/trouble.ts';
import { waitFor } from '../processes/wait.ts';

/** How private stores shall be run. */
export type PrivateOptions = {
  /** Holds the folders `postgres`, `redis`, `rabbitmq` and `logs`. */
  home: string;
  /** False under test: PostgreSQL need not survive a power cut, Redis keeps nothing. */
  durable: boolean;
  /** RabbitMQ's management API: the tests make their vhosts with it. */
  management: boolean;
  signal: AbortSignal;
  /** Takes every process at once when it is started, and closes it at the end, whatever happens meanwhile. */
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

/** What stays the same from start to start. */
export type Instance = { port: number; password: string };
type Written<T> = T & { processes?: (Owner & { stopSignal: NodeJS.Signals })[] };

/** What is remembered of an instance, with a free port. Stops what an earlier, killed run left running. */
export async function recallInstance<T extends Instance>(folder: string, signal: AbortSignal): Promise<T> {
  const { processes = [], ...known } = readJson<Written<T>>(instanceFile(makeFolder(folder))) ?? {};
  for (const { stopSignal, ...owner } of processes) await stopLeftover(owner, stopSignal, signal);
  const instance = { password: makePassword(), ...known } as T;
  return { ...instance, port: await freePort(instance.port) };
}

/** Remembers the instance, and its processes in case we are killed. */
export function remember(folder: string, instance: Instance, children: Child[]): void {
  const processes = children.map(({ pid, stopSignal }) => ({ pid, born: bornAt(pid) ?? 'gone', stopSignal }));
  writePrivate(instanceFile(folder), JSON.stringify({ ...instance, processes }, undefined, 2));
}

/** Letters and digits only, good in any URL and any configuration file. */
export function makePassword(): string {
  return randomBytes(24).toString('hex');
}

/** Waits until the server lets us in. @throws Trouble with the end of its log when it ends or does not within `timeoutMs`. */
export async function waitUntilReady(
  child: Child,
  isReady: () => Promise<boolean>,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Child> {
  const probe = async () => (child.hasExited() ? 'ended' : (await isReady()) ? 'ready' : undefined);
  const outcome = await waitFor(probe, timeoutMs, signal);
  if (outcome === 'ready') return child;
  const what = outcome ? 'ended while it was starting' : `did not start within ${timeoutMs / 1000} s`;
  throw new Trouble(`${child.name} ${what}; the end of ${child.log}:`, ...logEnd(child.log));
}

async function stopLeftover(owner: Owner, stopSignal: NodeJS.Signals, signal: AbortSignal): Promise<void> {
  if (!isSame(owner)) return;
  // Its own polite signal first: another may end it at once, and RabbitMQ then forgets the queues of its last seconds.
  process.kill(owner.pid, stopSignal);
  const gone = () => (isSame(owner) ? undefined : true);
  if (!(await waitFor(gone, 16_000, signal))) process.kill(owner.pid, 'SIGKILL');
  await waitFor(gone, 5_000, signal);
  await sleep(100); // its children notice and go
}

/** Where an instance is remembered. */
export function instanceFile(folder: string): string {
  return join(folder, 'instance.json');
}
