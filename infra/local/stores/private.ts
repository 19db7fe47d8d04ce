/**
 * What private instances of all three stores share: a folder with what must stay the same from start to start (ports and
 * passwords, in `instance.json`), and the processes of a run that was killed before it could stop them.
 */
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Say } from '../commands/say.ts';
import type { Child } from '../processes/child.ts';
import { bornAt, isSame, logEnd, makeFolder, readJson, writePrivate } from '../processes/home.ts';
import { Trouble } from '../processes/trouble.ts';
import { waitFor } from '../processes/wait.ts';

/** How private stores shall be run. */
export type PrivateOptions = {
  /** Holds the folders `postgres`, `redis`, `rabbitmq` and `logs`. */
  home: string;
  /** The outermost folder that is ours: `home`, or what it lies in. */
  within: string;
  /** False under test: PostgreSQL need not survive a power cut, Redis keeps nothing. */
  durable: boolean;
  /** RabbitMQ's management API: the tests make their vhosts with it. */
  management: boolean;
  signal: AbortSignal;
  /** Takes every process at once when it is started, and closes it at the end, whatever happens meanwhile. */
  group: Group;
  say: Say;
};

export type PrivateStore = {
  url: string;
  /** RabbitMQ's for producers, who may write to the exchange and nothing else. */
  producerUrl?: string;
  managementUrl?: string;
  /** Starts the server and waits until it lets us in. May be called again when it has died. */
  launch(): Promise<Child>;
};

export type Group = AsyncDisposable & { use<T extends AsyncDisposable>(member: T): T };

/** A set of things that are closed at the same time. What joins after the end is closed as it comes. */
export function openGroup(): Group {
  const members = new Set<AsyncDisposable>();
  let closed = false;
  return {
    use(member) {
      if (closed) void member[Symbol.asyncDispose]();
      members.add(member);
      return member;
    },
    async [Symbol.asyncDispose]() {
      closed = true;
      await Promise.all([...members].map((member) => member[Symbol.asyncDispose]()));
    },
  };
}

type Owner = { pid: number; born: string; stopSignal: NodeJS.Signals };
type Instance<T> = T & { processes?: Owner[] };

/** What is remembered of an instance; `make` gives it the first time. Stops what an earlier, killed run left running. */
export async function recallInstance<T extends object>(
  folder: string,
  make: () => T,
  signal: AbortSignal,
): Promise<{ instance: Instance<T>; isNew: boolean }> {
  makeFolder(folder);
  const known = readJson<Instance<T>>(instanceFile(folder));
  for (const owner of known?.processes ?? []) await stopLeftover(owner, signal);
  return known ? { instance: known, isNew: false } : { instance: make(), isNew: true };
}

/** Remembers the instance, and its processes in case we are killed. */
export function remember<T extends object>(folder: string, instance: Instance<T>, children: Child[]): void {
  const processes = children.map(({ pid, stopSignal }) => ({ pid, born: bornAt(pid) ?? 'gone', stopSignal }));
  writePrivate(instanceFile(folder), JSON.stringify({ ...instance, processes }, undefined, 2));
}

export function forgetInstance(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
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
): Promise<void> {
  const ready = await waitFor(
    async () => {
      if (child.hasExited()) return 'ended';
      return (await isReady()) ? 'ready' : undefined;
    },
    timeoutMs,
    signal,
  );
  if (ready === 'ready') return;
  throw new Trouble(
    `${child.name} ${ready === 'ended' ? 'ended while it was starting' : `did not start within ${timeoutMs / 1000} s`}; the end of ${child.log}:`,
    ...logEnd(child.log),
  );
}

async function stopLeftover(owner: Owner, signal: AbortSignal): Promise<void> {
  if (!isSame(owner)) return;
  // Its own polite signal first: another may end it at once, and RabbitMQ then forgets the queues of its last seconds.
  for (const [stopSignal, waitMs] of [
    [owner.stopSignal, 16_000],
    ['SIGKILL', 5_000],
  ] as const) {
    process.kill(owner.pid, stopSignal);
    if (await waitFor(() => (isSame(owner) ? undefined : true), waitMs, signal)) break;
  }
  await sleep(100); // its children notice and go
}

function instanceFile(folder: string): string {
  return join(folder, 'instance.json');
}
