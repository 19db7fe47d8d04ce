/**
 * Background work: messages to people, so that response times reveal nothing about them, and actions that nobody waits for. Bounded: beyond
 * `waitingMax` no more is accepted. Work that fails because a store is down is retried a few times.
 */
import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { gateMessagesMs } from '@gatepost/contracts/stopping';
import { describeError, type Log } from '@gatepost/runtime/log';
import { isAway } from '@gatepost/runtime/store-errors';

export type Queue = AsyncDisposable & {
  /** Accepts work that can safely be restarted. False if too much is waiting; the work is then not done, and the log says so. */
  add(what: string, work: () => Promise<void>): boolean;
};

/** A queue for each kind of work: a mail server that hangs must hold up neither text messages nor actions. */
export type Background = AsyncDisposable & Record<'mail' | 'text' | 'actions', Queue>;

const triesMax = 4;

export function openBackground(log: Log): Background {
  const queues = { mail: openQueue(log), text: openQueue(log), actions: openQueue(log) };
  return {
    ...queues,
    async [Symbol.asyncDispose]() {
      await Promise.all(Object.values(queues).map((queue) => queue[Symbol.asyncDispose]()));
    },
  };
}

/**
 * @param spreadMs the longest random delay before each job, so that the time of the next response does not reveal what the last one left
 * to do
 */
export function openQueue(
  log: Log,
  { concurrency = 16, waitingMax = 1_000, pauseMs = 1_000, spreadMs = 200 } = {},
): Queue {
  const waiting: { what: string; work: () => Promise<void> }[] = [];
  let [held, running] = [0, 0];
  let isIdle = () => {};

  const run = async (what: string, work: () => Promise<void>): Promise<void> => {
    for (let tries = 1; ; tries += 1)
      try {
        return await work();
      } catch (error) {
        if (isAway(error) && tries < triesMax) await sleep(pauseMs);
        else return log.error({ error: describeError(error) }, `could not send ${what}`);
      }
  };
  const next = (): void => {
    while (running < concurrency && waiting.length > 0) {
      const { what, work } = waiting.shift()!;
      running += 1;
      void run(what, work).finally(() => {
        running -= 1;
        next();
      });
    }
    if (running + held === 0) isIdle();
  };
  return {
    add(what, work) {
      if (held + waiting.length >= waitingMax) {
        log.error({ waiting: waitingMax }, `too much is waiting to accept ${what}`);
        return false;
      }
      held += 1;
      setTimeout(() => {
        held -= 1;
        waiting.push({ what, work });
        next();
      }, randomInt(spreadMs));
      return true;
    },
    async [Symbol.asyncDispose]() {
      if (held + running + waiting.length === 0) return;
      const idle = new Promise<'idle'>((resolve) => {
        isIdle = () => resolve('idle');
      });
      const inTime = await Promise.race([idle, sleep(gateMessagesMs, undefined, { ref: false })]);
      if (inTime !== 'idle') log.warn({ lost: held + running + waiting.length }, 'stopped before everything was sent');
    },
  };
}
