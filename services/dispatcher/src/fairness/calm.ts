/** Says when a flood lets up: what reads ahead tells it, what routes the flood asks it. */
import { setTimeout as wait } from 'node:timers/promises';

export type Calm = {
  /** Notes an event of a flood that has just come in. */
  flooded(): void;
  isCalm(): boolean;
  /** Resolves when little of a flood has come in for a moment, or after 0.4 s: what floods is routed, but not first. */
  calm(): Promise<void>;
};

const momentMs = 100;
/** In a moment. What comes more slowly can as well be routed at once. */
const muchOfAFlood = 100;
const calmWaitMaxMs = 400;

export function makeCalm(now: () => number = Date.now): Calm {
  let count = 0;
  let momentStart = Number.NEGATIVE_INFINITY;
  let floodedAt = Number.NEGATIVE_INFINITY;
  const isCalm = () => now() - floodedAt >= momentMs;
  return {
    flooded() {
      if (now() - momentStart >= momentMs) {
        momentStart = now();
        count = 0;
      }
      count += 1;
      if (count >= muchOfAFlood) floodedAt = now();
    },
    isCalm,
    async calm() {
      for (const until = now() + calmWaitMaxMs; now() < until && !isCalm(); ) await wait(momentMs / 4);
    },
  };
}
