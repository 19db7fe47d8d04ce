/** Our own failures: what a database or broker refuses now is tried again until it works, and nothing is dropped meanwhile. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Log } from '@gatepost/runtime/log';

export type Persist = <T>(what: string, work: () => Promise<T>) => Promise<T>;

/** Thrown when the process gives up at its stop deadline: the messages in hand stay unacked and come back. */
export class GivenUp extends Error {
  override name = 'GivenUp';
}

const firstWaitMs = 50;
const maxWaitMs = 2_000;

/**
 * Makes a function that runs `work` until it resolves, with waits from 50 ms to 2 s between tries, jittered. An error for which
 * `isHopeless` holds is thrown at once: trying again could not help.
 */
export function makePersist(options: {
  log: Log;
  giveUp: AbortSignal;
  isHopeless: (error: unknown) => boolean;
}): Persist {
  return async (what, work) => {
    for (let tries = 0; ; tries += 1) {
      if (options.giveUp.aborted) throw new GivenUp(`stopped while trying to ${what}`);
      try {
        return await work();
      } catch (error) {
        if (options.isHopeless(error)) throw error;
        options.log.warn({ error, tries: tries + 1 }, `could not ${what}, trying again`);
      }
      const waitMs = Math.min(maxWaitMs, firstWaitMs * 2 ** tries) * (0.75 + Math.random() / 2);
      await wait(waitMs, undefined, { signal: options.giveUp }).catch(() => {
        // the next turn gives up
      });
    }
  };
}
