/** Backpressure on a flood: routing it waits a little while much of it still comes in. What reads ahead notes it, what routes the flood asks. */
import { setTimeout as wait } from 'node:timers/promises';

export type Backpressure = {
  /** Notes an event of a flood that has just come in. */
  flooded(): void;
  /** Whether little of a flood has come in for a moment. */
  isLifted(): boolean;
  /** Resolves when it is lifted, or after 0.4 s: what floods is routed, but not first. */
  lifted(): Promise<void>;
};

const momentMs = 100;
/** In a moment. What comes more slowly can as well be routed at once. */
const muchOfAFlood = 100;
const waitMaxMs = 400;

export function makeBackpressure(now: () => number = Date.now): Backpressure {
  let count = 0;
  let momentStart = Number.NEGATIVE_INFINITY;
  let floodedAt = Number.NEGATIVE_INFINITY;
  const isLifted = () => now() - floodedAt >= momentMs;
  return {
    flooded() {
      if (now() - momentStart >= momentMs) {
        momentStart = now();
        count = 0;
      }
      count += 1;
      if (count >= muchOfAFlood) floodedAt = now();
    },
    isLifted,
    async lifted() {
      for (const until = now() + waitMaxMs; now() < until && !isLifted(); ) await wait(momentMs / 4);
    },
  };
}
