/** Lets attempts start when their hook and account have room; the concurrency limiter decides when, and in which order. */
import { GivenUp } from '../settling/persist.ts';
import { makeConcurrencyLimiter, type Ran, type Waiting } from './concurrency-limiter.ts';

export type Room = {
  /**
   * Runs `work` when there is room for it. Answers its result, or until when the job is to be put aside.
   * @throws what `work` throws, and `GivenUp` if it had not started when the room was closed.
   */
  run<T>(who: Waiting, work: () => Promise<T>, ranOf: (result: T) => Ran | undefined): Promise<Entered<T>>;
  /** How many wait for room. */
  waiting(): number;
  /** Lets nothing more start. */
  close(): void;
};

export type Entered<T> = { kind: 'ran'; result: T } | { kind: 'busy'; dueMs: number };

type Item = Waiting & { start: () => Promise<Ran | undefined>; turnAway: (dueMs: number) => void; giveUp: () => void };

export function makeRoom(concurrency: number): Room {
  let isClosed = false;
  const limiter = makeConcurrencyLimiter<Item>({
    concurrency,
    start: (item) => item.start(),
    turnAway: (item, dueMs) => item.turnAway(dueMs),
  });
  return {
    waiting: limiter.waiting,
    run: ({ hookId, accountId, isLast = false }, work, ranOf) =>
      new Promise((resolve, reject) => {
        const giveUp = () => reject(new GivenUp('stopped before there was room for a job'));
        if (isClosed) return giveUp();
        const start = async () => {
          try {
            const result = await work();
            resolve({ kind: 'ran', result });
            return ranOf(result);
          } catch (error) {
            reject(error);
            return undefined;
          }
        };
        limiter.add({
          hookId,
          accountId,
          isLast,
          start,
          turnAway: (dueMs) => resolve({ kind: 'busy', dueMs }),
          giveUp,
        });
      }),
    close() {
      isClosed = true;
      for (const item of limiter.drain()) item.giveUp();
    },
  };
}
