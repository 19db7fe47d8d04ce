/** Backpressure on a flood: its routing pauses briefly while many of its events still come in. The read-ahead reports them, and routing asks. */
import { setTimeout as wait } from 'node:timers/promises';

export type Backpressure = {
  /** Notes an event of a flood that has just come in. */
  flooded(): void;
  /** Whether few events of a flood have come in lately. */
  isLifted(): boolean;
  /** Resolves when it is lifted, or after 0.4 s: a flood is routed too, but not first. */
  lifted(): Promise<void>;
};

const momentMs = 100;
/** Events in a moment. What comes more slowly can be routed at once. */
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
