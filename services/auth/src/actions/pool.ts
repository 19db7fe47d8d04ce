/** The processes that run actions: one per version, started when first needed. */
import { findNetworkNamespace } from './network-namespace.ts';
import type { AskOutside } from './outside.ts';
import { type ActionProcess, failed, type Limits, openActionProcess, type Program, type RunResult } from './process.ts';
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

export type ActionPool = Disposable & {
  /** Never rejects. */
  run(action: Runnable, call: Call): Promise<RunResult>;
  /** Runs the action once, in a process that ends with the run. Never rejects. */
  tryOut: ActionPool['run'];
  /** Ends the processes of all other versions, once their runs have had time to end. */
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
  const processes = new Map<string, ActionProcess>();
  const leaving = new Set<ActionProcess>();
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
  const end = (process: ActionProcess) => {
    leaving.delete(process);
    process[Symbol.dispose]();
  };
  const programOf = ({ code, secrets, dependencies: names = [] }: Runnable): Program => ({
    code,
    secrets,
    ...(packages !== undefined && names.length > 0 && { packages: { folder: packages, names } }),
  });
  return {
    run(action, order) {
      const { version } = action;
      let process = processes.get(version);
      if (!process) {
        process = openActionProcess({ program: programOf(action), limits, prefix, outside, now });
        processes.set(version, process);
      }
      return process.run(order);
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
      for (const [version, process] of processes) {
        if (versions.has(version)) continue;
        processes.delete(version);
        leaving.add(process);
        setTimeout(() => end(process), limits.timeoutMs * 2).unref();
      }
    },
    [Symbol.dispose]() {
      for (const process of [...processes.values(), ...leaving]) end(process);
      processes.clear();
    },
  };
}
