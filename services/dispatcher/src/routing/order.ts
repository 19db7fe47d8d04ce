/** Which messages must keep their order, as far as can be told before they are parsed: those of one account. */
import type { Incoming } from '@gatepost/amqp/consumer';
import type { Producers } from '@gatepost/contracts/producers';
import { accountOf, isAccountUnknown } from '../fairness/noisy-neighbours.ts';

/** `is`: what a message counts as; it must not overtake an earlier one that counts as any of `follows`. */
export type Order = { is: readonly string[]; follows: readonly string[] };

/** A message whose account is unknown may be of any account of its producer. */
export const makeOrderOf =
  (producers: Producers) =>
  (message: Incoming): Order => {
    const account = accountOf(message);
    // No account has a space in its name.
    const [some, unknown] = [`some of ${message.userId ?? ''}`, `unknown of ${message.userId ?? ''}`];
    if (isAccountUnknown(message)) return { is: [some, unknown], follows: [some] };
    // It becomes a dead letter, and must not hold up the account that it names.
    if (account === undefined || producers.refuse(message.userId, account)) return { is: [], follows: [] };
    return { is: [some, account], follows: [unknown, account] };
  };

export const mustFollow = (later: Order, earlier: Order): boolean =>
  later.follows.some((key) => earlier.is.includes(key));

/** Counts messages by their order. */
export function makeOrderTally() {
  const counts = new Map<string, number>();
  const add = ({ is }: Order) => {
    for (const key of is) counts.set(key, (counts.get(key) ?? 0) + 1);
  };
  const remove = ({ is }: Order) => {
    for (const key of is) {
      const left = counts.get(key)! - 1;
      if (left > 0) counts.set(key, left);
      else counts.delete(key);
    }
  };
  return {
    add,
    remove,
    isEmpty: () => counts.size === 0,
    /** Whether one of those counted must not be overtaken by this one. */
    hasEarlier: ({ follows }: Order) => follows.some((key) => counts.has(key)),
    async during<T>(order: Order, work: () => Promise<T>): Promise<T> {
      add(order);
      try {
        return await work();
      } finally {
        remove(order);
      }
    },
  };
}
