/**
 * Retries our own failures. Failures explained by an unavailable store are retried until it is back, and nothing is dropped meanwhile. Others
 * would repeat for ever and hold up everything behind them: after a few tries they are thrown, and the caller finds the one item at fault.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { type DeliveryJob, jobFields } from '@gatepost/contracts/delivery-job';
import type { Log } from '@gatepost/runtime/log';
import type { Trouble } from '@gatepost/runtime/store-errors';

/** `job`: the delivery concerned, if there is exactly one. */
export type Persist = <T>(what: string, work: () => Promise<T>, job?: DeliveryJob) => Promise<T>;

/** Thrown when a message is left to others: this process is stopping, or has lost the connection that brought the message. */
export class GivenUp extends Error {
  override name = 'GivenUp';
  readonly why: 'stopping' | 'connection_lost';
  constructor(message: string, why: GivenUp['why'] = 'stopping') {
    super(message);
    this.why = why;
  }
}

export const isGivenUp = (error: unknown): error is GivenUp => error instanceof GivenUp;

const firstWaitMs = 50;
const maxWaitMs = 2_000;
/** For failures not explained by an unavailable store: takes less than a second. */
const otherTriesMax = 5;

/**
 * Makes a function that runs `work` until it resolves, with jittered waits from 50 ms to 2 s between tries. `values` trouble is thrown at
 * once, `other` trouble after five tries.
 */
export function makePersist(options: {
  log: Log;
  giveUp: AbortSignal;
  troubleOf: (error: unknown) => Trouble;
  /** For tests. */
  pause?: typeof wait;
}): Persist {
  const pause = options.pause ?? wait;
  return async (what, work, job) => {
    let others = 0;
    for (let tries = 0; ; tries += 1) {
      if (options.giveUp.aborted) throw new GivenUp(`stopped while trying to ${what}`);
      try {
        return await work();
      } catch (error) {
        const trouble = options.troubleOf(error);
        if (trouble === 'other') others += 1;
        if (trouble === 'values' || others >= otherTriesMax) throw error;
        options.log.warn({ error, tries: tries + 1, ...(job && jobFields(job)) }, `could not ${what}, trying again`);
      }
      const waitMs = Math.min(maxWaitMs, firstWaitMs * 2 ** tries) * (0.75 + Math.random() / 2);
      await pause(waitMs, undefined, { signal: options.giveUp }).catch(() => {
        // the next turn gives up
      });
    }
  };
}
