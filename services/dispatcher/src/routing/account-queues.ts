/** The messages that wait to be routed, in batches: each account's in the order received. */
import { crc32 } from 'node:zlib';
import type { Incoming } from '@gatepost/amqp/consumer';
import { accountOf } from '../fairness/noisy-neighbours.ts';
import { makeBatches } from '../settling/batch.ts';
import { largeBytes } from './large-bytes.ts';

const batchMaxMessages = 100;
const batchMaxBytes = 8 * 1024 * 1024;

/** The message was taken out of its queue, to be routed ahead of it. */
export const ahead = 'ahead';

/** `atOnce` batch queues, with each account always in the same one, and one aside for large events. */
export function makeAccountQueues<R>({
  work,
  before,
  atOnce = 1,
}: {
  work: (messages: readonly Incoming[]) => Promise<readonly R[]>;
  before?: (() => Promise<void>) | undefined;
  atOnce?: number | undefined;
}) {
  let goesAhead: ((message: Incoming) => boolean) | undefined;
  const letAhead = () => {
    if (!goesAhead) return;
    for (const batches of all) {
      // A batch being retried or halved may take long to be stored: later messages of its accounts must not overtake it.
      const busy = new Set(batches.working().map(accountOf));
      batches.withdraw((message) => goesAhead!(message) && !busy.has(accountOf(message)), ahead);
    }
  };
  const open = () =>
    makeBatches<Incoming, R | typeof ahead>({
      maxItems: batchMaxMessages,
      maxBytes: batchMaxBytes,
      bytesOf: (message) => message.body.length,
      async before() {
        // Covers messages that arrived while an earlier one of their account was in the last batch, and so had to wait for it.
        letAhead();
        await before?.();
      },
      work,
    });
  const all = Array.from({ length: atOnce }, open);
  const batchesOf = (message: Incoming) => all[atOnce === 1 ? 0 : crc32(accountOf(message) ?? '') % atOnce]!;
  // For large events, and meanwhile for later messages of their accounts: neither must overtake the other.
  const aside = open();
  const asideOf = makeTally<string | undefined>();
  const addAside = async (message: Incoming, account: string | undefined) => {
    await batchesOf(message).settled((earlier) => accountOf(earlier) === account);
    return aside.add(message);
  };
  return {
    add(message: Incoming) {
      const isLarge = message.body.length > largeBytes;
      if (!isLarge && asideOf.isEmpty()) return batchesOf(message).add(message);
      const account = accountOf(message);
      if (!isLarge && !asideOf.has(account)) return batchesOf(message).add(message);
      return asideOf.during(account, () => addAside(message, account));
    },
    letAhead(which: (message: Incoming) => boolean) {
      goesAhead = which;
      letAhead();
    },
    waiting: () => all.reduce((sum, batches) => sum + batches.waiting(), aside.waiting()),
  };
}

/** Counts the work in progress by key. */
export function makeTally<K>() {
  const counts = new Map<K, number>();
  return {
    has: (key: K) => counts.has(key),
    isEmpty: () => counts.size === 0,
    async during<T>(key: K, work: () => Promise<T>): Promise<T> {
      counts.set(key, (counts.get(key) ?? 0) + 1);
      try {
        return await work();
      } finally {
        const left = counts.get(key)! - 1;
        if (left > 0) counts.set(key, left);
        else counts.delete(key);
      }
    },
  };
}
