/** The messages that wait to be routed, in batches: each account's in the order received. */
import { crc32 } from 'node:zlib';
import type { Incoming } from '@gatepost/amqp/consumer';
import { makeBatches } from '../settling/batch.ts';
import { largeBytes } from './large-bytes.ts';
import { makeOrderTally, mustFollow, type Order } from './order.ts';

const batchMaxMessages = 100;
const batchMaxBytes = 8 * 1024 * 1024;

/** The message was taken out of its queue, to be routed ahead of it. */
export const ahead = 'ahead';

/** `atOnce` batch queues, with each account always in the same one, and one aside for large events. */
export function makeAccountQueues<R>({
  orderOf,
  work,
  before,
  atOnce = 1,
}: {
  orderOf: (message: Incoming) => Order;
  work: (messages: readonly Incoming[]) => Promise<readonly R[]>;
  before?: (() => Promise<void>) | undefined;
  atOnce?: number | undefined;
}) {
  let goesAhead: ((message: Incoming) => boolean) | undefined;
  const letAhead = () => {
    if (!goesAhead) return;
    for (const batches of all) {
      // A batch being retried or halved may take long to be stored: later messages of its accounts must not overtake it.
      const staying = makeOrderTally();
      for (const message of batches.working()) staying.add(orderOf(message));
      batches.withdraw((message) => {
        const order = orderOf(message);
        if (goesAhead!(message) && !staying.hasEarlier(order)) return true;
        staying.add(order);
        return false;
      }, ahead);
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
  const batchesOf = (message: Incoming) => all[atOnce === 1 ? 0 : crc32(orderOf(message).is.at(-1) ?? '') % atOnce]!;
  // For large events, and meanwhile for later messages of their accounts: neither must overtake the other.
  const aside = open();
  const ordersAside = makeOrderTally();
  /** Those that wait to go there until what they must follow is routed. */
  const entering = new Map<Promise<unknown>, Order>();
  const addAside = async (message: Incoming, order: Order) => {
    const earlier = [...entering].filter(([, other]) => mustFollow(order, other)).map(([entered]) => entered);
    const isEarlier = (other: Incoming) => mustFollow(order, orderOf(other));
    const entered = Promise.all([...earlier, ...all.map((batches) => batches.settled(isEarlier))]);
    entering.set(entered, order);
    await entered;
    entering.delete(entered);
    return aside.add(message);
  };
  return {
    add(message: Incoming) {
      const isLarge = message.body.length > largeBytes;
      if (!isLarge && ordersAside.isEmpty()) return batchesOf(message).add(message);
      const order = orderOf(message);
      if (!isLarge && !ordersAside.hasEarlier(order)) return batchesOf(message).add(message);
      return ordersAside.during(order, () => addAside(message, order));
    },
    letAhead(which: (message: Incoming) => boolean) {
      goesAhead = which;
      letAhead();
    },
    waiting: () => all.reduce((sum, batches) => sum + batches.waiting(), aside.waiting()),
  };
}
