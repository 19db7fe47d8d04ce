/** The kills, and freezes if requested, one after the other, in rounds of changing order. */
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
  /** Others take over, so deliveries must go on before it is repaired. */
  hasOthers?: boolean;
};
export type Struck = {
  name: string;
  times: number;
  downSeconds: number;
  /** How often nothing went on without it, although others should have taken over. */
  stood: number;
};

type Server = Pick<ClusterNode, 'name' | 'ready' | 'launch'> & Partial<Pick<ClusterNode, 'whole'>>;

const pauseMs = { min: 500, more: 2_000 };
const downMs = { min: 200, more: 1_500 };
/** How long a node may take to rejoin its cluster. */
const wholeSeconds = 30;
// Below and above the clients' timeouts.
const frozenMs = { min: 2_000, more: 18_000 };
const repairTries = 10;

type FaultOptions = {
  /** Stores also stop responding for a while, like a machine that hangs or is cut off. */
  freezes: boolean;
  /** On abort, frozen stores wake up at once. */
  signal: AbortSignal;
};

export function makeFaults(stores: Store[], nodes: ClusterNode[], fleet: Fleet, options: FaultOptions) {
  const ofNodes = nodes.flatMap((node): Fault[] => {
    const { faults, comeBack } = faultsOf(node, true, options);
    const cutOff = { name: `${node.name} cut off`, hasOthers: true, down: downMs, strike: node.cutOff };
    return [...faults, { ...cutOff, repair: () => comeBack(node.rejoin) }];
  });
  const ofStores = stores.flatMap(({ name, server }) => {
    if (!server) throw new Error(`${name} is not ours to kill`);
    return faultsOf({ ...server, ready: Promise.resolve(server.child) }, false, options).faults;
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

/** The faults of one server, and how it rejoins the others. */
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
   * A cluster node that was cut off while running may fail to rejoin; RabbitMQ's guide says to restart it then
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
 * Strikes every fault at least once, then continues until time is up. Each is repaired before the next: the promise is to survive any single
 * one. Rejects when `signal` aborts, between two steps.
 */
export async function strikeInTurn(
  faults: Fault[],
  {
    random,
    isOver,
    isWorking,
    onStrike,
    signal,
  }: {
    random: () => number;
    isOver: () => boolean;
    signal: AbortSignal;
    /** Whether an event published from now on is delivered within a minute. */
    isWorking: () => Promise<boolean>;
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
      const stood = fault.hasOthers === true && !(await isWorking());
      await fault.repair();
      const seconds = (performance.now() - from) / 1_000;
      onStrike(fault.name, `away for ${seconds.toFixed(1)} s`);
      const entry = struck.get(fault.name)!; // it is in the same list
      entry.times += 1;
      entry.stood += Number(stood);
      entry.downSeconds += seconds;
    }
  }
  return [...struck.values()];
}

/** PostgreSQL does not start while anything of its previous process is left. */
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

/** Signals a server and all its processes at once, as if their machine had failed. */
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
    return undefined; // it ended meanwhile
  }
}

function shuffled<T>(items: T[], random: () => number): T[] {
  return items
    .map((item) => ({ item, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}
