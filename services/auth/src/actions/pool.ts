/** The processes that run actions: one per version, started when first needed. */
import type { Limits, Program } from './launch.ts';
import { findNetworkNamespace } from './network-namespace.ts';
import type { AskOutside } from './outside.ts';
import { type ActionProcess, openActionProcess } from './process.ts';
import { failed, type RunResult } from './run-result.ts';
import type { Call } from './worker/messages.ts';

/** Each trial is a process. */
const trialsMax = 4;

/** @property dependencies names of npm packages */
export type Runnable = {
  version: string;
  code: string;
  secrets: Record<string, string>;
  dependencies?: readonly string[];
};

/** @property ending set while its version does not run any more */
type Started = { process: ActionProcess; ending?: NodeJS.Timeout | undefined };

export type ActionPool = Disposable & {
  /** Never rejects. */
  run(action: Runnable, call: Call): Promise<RunResult>;
  /** Runs the action once, in a process that ends with the run. Never rejects. */
  tryOut: ActionPool['run'];
  /** Ends the processes of all other versions, also those started later, once their runs have had time to end. */
  keepOnly(versions: Set<string>): void;
};

/** @param onStart called before the first process starts. @param packages where npm packages are (packages.ts) */
export function openActionPool(given: {
  limits: Limits;
  outside: AskOutside;
  packages?: string | undefined;
  onStart?: (network: { isSeparate: boolean }) => void;
  now?: () => number;
}): ActionPool {
  const { limits, outside, packages, onStart, now } = given;
  const processes = new Map<string, Started>();
  let current: Set<string> | undefined;
  let trials = 0;
  let looking: Promise<string[]> | undefined;
  const prefix = () => {
    looking ??= findNetworkNamespace().then(
      (found) => {
        onStart?.({ isSeparate: found.length > 0 });
        return found;
      },
      (error: unknown) => {
        looking = undefined; // the next start looks again
        throw error;
      },
    );
    return looking;
  };
  const isReplaced = (version: string) => current?.has(version) === false;
  const endLater = (version: string, started: Started) => {
    clearTimeout(started.ending);
    const end = () => {
      processes.delete(version);
      started.process[Symbol.dispose]();
    };
    started.ending = setTimeout(end, limits.timeoutMs * 2).unref();
  };
  const programOf = ({ code, secrets, dependencies: names = [] }: Runnable): Program => ({
    code,
    secrets,
    ...(packages !== undefined && names.length > 0 && { packages: { folder: packages, names } }),
  });
  const start = (action: Runnable): Started => {
    const started = { process: openActionProcess({ program: programOf(action), limits, prefix, outside, now }) };
    processes.set(action.version, started);
    return started;
  };
  return {
    run(action, order) {
      const { version } = action;
      const started = processes.get(version) ?? start(action);
      const running = started.process.run(order);
      // A request that began before the version was replaced.
      if (isReplaced(version)) {
        clearTimeout(started.ending);
        void running.then(() => {
          if (isReplaced(version) && processes.get(version) === started) endLater(version, started);
        });
      }
      return running;
    },
    async tryOut(action, order) {
      if (trials >= trialsMax) return failed('busy', `${trialsMax} are tried out at the same time`);
      trials += 1;
      using process = openActionProcess({ program: programOf(action), limits, prefix, outside });
      try {
        return await process.run(order);
      } finally {
        trials -= 1;
      }
    },
    keepOnly(versions) {
      current = versions;
      for (const [version, started] of processes) {
        if (!isReplaced(version)) {
          clearTimeout(started.ending);
          started.ending = undefined;
        } else if (!started.ending) endLater(version, started);
      }
    },
    [Symbol.dispose]() {
      for (const { process, ending } of processes.values()) {
        clearTimeout(ending);
        process[Symbol.dispose]();
      }
      processes.clear();
    },
  };
}
