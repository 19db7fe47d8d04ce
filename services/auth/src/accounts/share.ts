/** Limits how many requests of one network are in progress at a time, including waiting ones. */
import { setTimeout as sleep } from 'node:timers/promises';

export type Share = {
  /** A slot, given back when disposed; undefined when the network is using all of its slots. */
  take(network: string): Disposable | undefined;
};

export function makeShare(max: number): Share {
  const taken = new Map<string, number>();
  return {
    take(network) {
      const count = taken.get(network) ?? 0;
      if (count >= max) return undefined;
      taken.set(network, count + 1);
      return {
        [Symbol.dispose]() {
          const left = taken.get(network)! - 1;
          if (left > 0) taken.set(network, left);
          else taken.delete(network);
        },
      };
    },
  };
}

const heldMs = 250;
const heldMax = 1_000;
let held = 0;

/** Delays a refusal a little: a crowd that retries at once would otherwise keep us busy refusing. */
export async function delayRefusal(): Promise<void> {
  if (held >= heldMax) return;
  held += 1;
  await sleep(heldMs);
  held -= 1;
}
