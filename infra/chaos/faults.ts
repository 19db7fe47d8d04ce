/** The kills, and the freezes if they are asked for, one after the other, in rounds of changing order. */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Child } from '../local/processes/child.ts';
import type { Store } from '../local/stores/stores.ts';
import type { ClusterNode } from './cluster.ts';
import type { Fleet } from './fleet.ts';

export type Fault = {
  name: string;
  strike(): Promise<void>;
  repair(): Promise<void>;
  down: typeof downMs;
  /** Others take its place: it is not repaired before deliveries go on without it. */
  hasOthers?: boolean;
};
export type Struck = {
  name: string;
  times: number;
  downSeconds: number;
  /** How often nothing went on without it, though others should have taken its place. */
  stood: number;
};

type Server = Pick<ClusterNode, 'name' | 'ready' | 'launch'> & Partial<Pick<ClusterNode, 'whole'>>;

const pauseMs = { min: 500, more: 2_000 };
const downMs = { min: 200, more: 1_500 };
/** How long a node may take to be a part of its cluster again. */
const wholeSeconds = 30;
// Below and above the timeouts of the clients.
const frozenMs = { min: 2_000, more: 18_000 };
const repairTries = 10;

type FaultOptions = {
  /** Stores also stop answering for a while, as a machine does that hangs or is cut off. */
  freezes: boolean;
  /** When it aborts they wake at once. */
  signal: AbortSignal;
};

export function makeFaults(stores: Store[], nodes: ClusterNode[], fleet: Fleet, options: FaultOptions) {
  const ofNodes = nodes.flatMap((node): Fault[] => {
    const { faults, comeBack } = faultsOf(node, true, options);
    const cutOff = { name: `${node.name} cut off`, hasOthers: true, down: downMs, strike: node.cutOff };
    return [...faults, { ...cutOff, repair: () => comeBack(node.rejoin) }];
  });
  const ofStores = stores.flatMap(({ name, child, launch }) => {
    if (!child || !launch) throw new Error(`${name} is not ours to kill`);
    return faultsOf({ name, ready: Promise.resolve(child), launch }, false, options).faults;
  });
  const ofDispatchers = Array.from({ length: fleet.size }, (_, index): Fault => {
    return {
      name: `dispatcher ${index + 1}`,
      down: downMs,
      strike: () => fleet.kill(index),
      repair: () => fleet.revive(index),
    };
  });
  return [...ofDispatchers, ...ofNodes, ...ofStores];
}

/** What is struck at one server, and how it comes back to the others. */
function faultsOf(store: Server, hasOthers: boolean, { freezes, signal }: FaultOptions) {
  let child = store.ready;
  const kill: Fault = {
    name: store.name,
    hasOthers,
    down: downMs,
    async strike() {
      const { pid, exited } = await child;
      signalTree(pid, 'SIGKILL');
      await exited;
    },
    async repair() {
      child = launchAgain(store, signal);
      await child;
      await store.whole?.();
    },
  };
  const freeze: Fault = {
    name: `${store.name} frozen`,
    hasOthers,
    down: frozenMs,
    async strike() {
      const { pid } = await child;
      signalTree(pid, 'SIGSTOP');
      signal.addEventListener('abort', () => signalTree(pid, 'SIGCONT'), { once: true });
    },
    async repair() {
      signalTree((await child).pid, 'SIGCONT');
      await comeBack();
    },
  };
  /**
   * A node of a cluster that was away while it ran may not find its place again: RabbitMQ's guide has it restarted then
   * (https://www.rabbitmq.com/docs/partitions#recovering).
   */
  const comeBack = async (rejoin?: () => Promise<void>) => {
    try {
      await rejoin?.();
      await store.whole?.(wholeSeconds);
    } catch {
      signal.throwIfAborted();
      await kill.strike();
      await kill.repair();
    }
  };
  return { faults: freezes ? [kill, freeze] : [kill], comeBack };
}

/**
 * Strikes every fault at least once, then on until it is over. Each is repaired before the next: what is promised is to survive any
 * one of them. Rejects when `signal` aborts, between two steps.
 */
export async function strikeInTurn(
  faults: Fault[],
  {
    random,
    isOver,
    goesOn,
    onStrike,
    signal,
  }: {
    random: () => number;
    isOver: () => boolean;
    signal: AbortSignal;
    /** Whether an event that is published from now on is delivered, within a minute. */
    goesOn: () => Promise<boolean>;
    onStrike: (name: string, text: string) => void;
  },
): Promise<Struck[]> {
  const struck = new Map(
    faults.map(({ name }): [string, Struck] => [name, { name, times: 0, downSeconds: 0, stood: 0 }]),
  );
  const pause = ({ min, more }: typeof pauseMs) => sleep(min + random() * more, undefined, { signal });
  for (let round = 0; round === 0 || !isOver(); round += 1) {
    for (const fault of shuffled(faults, random)) {
      if (isOver() && round > 0) break;
      await pause(pauseMs);
      const from = performance.now();
      await fault.strike();
      await pause(fault.down);
      const stood = fault.hasOthers === true && !(await goesOn());
      await fault.repair();
      const seconds = (performance.now() - from) / 1_000;
      onStrike(fault.name, `away for ${seconds.toFixed(1)} s`);
      const entry = struck.get(fault.name)!; // of the same list
      entry.times += 1;
      entry.stood += Number(stood);
      entry.downSeconds += seconds;
    }
  }
  return [...struck.values()];
}

/** PostgreSQL does not start while anything of its last life is left. */
async function launchAgain(store: Server, signal: AbortSignal): Promise<Child> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await store.launch();
    } catch (error) {
      if (tries === repairTries) throw error;
      await sleep(200 * tries, undefined, { signal });
    }
  }
}

/** Signals a server and all its processes in one go: what happens to its machine happens to all of them. */
function signalTree(root: number, signal: NodeJS.Signals): void {
  const children = new Map<number, number[]>();
  for (const entry of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const parent = parentOf(entry);
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), Number(entry)]);
  }
  const tree = [root];
  for (const pid of tree) tree.push(...(children.get(pid) ?? []));
  for (const pid of tree) {
    try {
      process.kill(pid, signal);
    } catch {
      // ESRCH: gone with its parent
    }
  }
}

function parentOf(pid: string): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return undefined; // it ended while we looked
  }
}

function shuffled<T>(items: T[], random: () => number): T[] {
  return items
    .map((item) => ({ item, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}
