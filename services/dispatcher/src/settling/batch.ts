/**
 * Natural batches: the next batch is whatever arrived during the last one, so at high rates many items share the cost of a statement. No item
 * waits for others, unless `lingerMs` says so.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { inHalves } from '@gatepost/runtime/halve';
import { isGivenUp } from './persist.ts';

export type Batches<T, R> = {
  /** Resolves with the item's result; rejects with the error that it causes alone, or with `GivenUp`. */
  add(item: T): Promise<R>;
  /** Resolves waiting items that match `which` with `result`: they are worked on elsewhere. */
  withdraw(which: (item: T) => boolean, result: R): void;
  /** Resolves when all items here that match `which` have their results, or have been withdrawn. */
  settled(which: (item: T) => boolean): Promise<unknown>;
  /** The batch that is being worked on. */
  working(): readonly T[];
  /** How many wait for their batch. */
  waiting(): number;
  /** Nothing waits, and nothing is being worked on. */
  isIdle(): boolean;
};

type Added<T, R> = PromiseWithResolvers<R> & { item: T; atMs: number };

/**
 * `work` answers a result for each item, in order. A batch that it rejects is halved until the item at fault is alone, and the others go on.
 * A batch holds at most `maxItems` and, except for a single large item, `maxBytes`.
 */
export function makeBatches<T, R>(options: {
  maxItems: number;
  maxBytes: number;
  bytesOf: (item: T) => number;
  /** How long a batch's first item may wait for others; 0 by default. */
  lingerMs?: number;
  /** Awaited before each batch. */
  before?: () => Promise<void>;
  work: (items: readonly T[]) => Promise<readonly R[]>;
}): Batches<T, R> {
  let waiting: Added<T, R>[] = [];
  let batch: Added<T, R>[] = [];
  let isRunning = false;
  const linger = async () => {
    const { lingerMs = 0 } = options;
    const leftMs = lingerMs - (performance.now() - waiting[0]!.atMs);
    if (leftMs > 0 && waiting.length < options.maxItems) await wait(leftMs);
  };

  const take = (): Added<T, R>[] => {
    const count = fitting(waiting, options);
    const some = waiting.slice(0, count);
    waiting = waiting.slice(count);
    return some;
  };
  const work = async (some: readonly Added<T, R>[]) => {
    const results = await options.work(some.map(({ item }) => item));
    for (const [index, { resolve }] of some.entries()) resolve(results[index]!);
  };
  const workThrough = async () => {
    // Everything from one socket read arrives in one turn of the event loop, and should be one batch.
    await new Promise((resolve) => setImmediate(resolve));
    while (waiting.length > 0) {
      if (options.lingerMs) await linger();
      await options.before?.();
      batch = take();
      if (batch.length === 0) break; // withdrawn meanwhile
      try {
        await inHalves(batch, { work, alone: async ({ reject }, error) => reject(error), isNobodysFault: isGivenUp });
      } catch (error) {
        for (const { reject } of batch) reject(error); // those that have their result keep it
      }
      batch = [];
    }
    isRunning = false;
  };

  return {
    add(item) {
      const { promise, resolve, reject } = Promise.withResolvers<R>();
      waiting.push({ item, atMs: performance.now(), promise, resolve, reject });
      if (!isRunning) {
        isRunning = true;
        void workThrough();
      }
      return promise;
    },
    settled: (which) =>
      Promise.allSettled([...batch, ...waiting].flatMap(({ item, promise }) => (which(item) ? [promise] : []))),
    withdraw(which, result) {
      const left: Added<T, R>[] = [];
      for (const added of waiting) {
        if (which(added.item)) added.resolve(result);
        else left.push(added);
      }
      waiting = left;
    },
    working: () => batch.map(({ item }) => item),
    waiting: () => waiting.length,
    isIdle: () => !isRunning,
  };
}

/** How many of the first items fit into one batch. */
function fitting<T>(
  waiting: readonly { item: T }[],
  { maxItems, maxBytes, bytesOf }: { maxItems: number; maxBytes: number; bytesOf: (item: T) => number },
): number {
  let count = 0;
  let bytes = 0;
  while (count < waiting.length && count < maxItems) {
    bytes += bytesOf(waiting[count]!.item);
    if (count > 0 && bytes > maxBytes) break;
    count += 1;
  }
  return count;
}
