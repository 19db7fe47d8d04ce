/**
 * Natural batches: what has arrived while the last batch was being worked on is the next one. No timer is involved, so at low
 * rates an item waits for nothing, and at high rates the cost of a statement is shared by many.
 */

export type Batches<T> = {
  add(item: T): void;
  /** How many wait for their batch. */
  waiting(): number;
  /** Nothing waits, and nothing is being worked on. */
  isIdle(): boolean;
  /** Resolves when all that was added has been worked on. */
  idle(): Promise<void>;
};

/** `work` must not reject. A batch holds at most `maxItems` and, but for a single large item, `maxBytes`. */
export function makeBatches<T>(options: {
  maxItems: number;
  maxBytes: number;
  bytesOf: (item: T) => number;
  work: (items: T[]) => Promise<void>;
}): Batches<T> {
  let waiting: T[] = [];
  let running: Promise<void> | undefined;

  const take = (): T[] => {
    let count = 0;
    let bytes = 0;
    while (count < waiting.length && count < options.maxItems) {
      bytes += options.bytesOf(waiting[count]!);
      if (count > 0 && bytes > options.maxBytes) break;
      count += 1;
    }
    const batch = waiting.slice(0, count);
    waiting = waiting.slice(count);
    return batch;
  };
  const workThrough = async () => {
    // What one read of a socket brings arrives in one turn of the event loop, and should be one batch.
    await new Promise((resolve) => setImmediate(resolve));
    while (waiting.length > 0) await options.work(take());
    running = undefined;
  };

  return {
    add(item) {
      waiting.push(item);
      running ??= workThrough();
    },
    waiting: () => waiting.length,
    isIdle: () => running === undefined,
    async idle() {
      while (running) await running;
    },
  };
}
