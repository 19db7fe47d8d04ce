/** Backpressure on a flood: pauses its routing briefly while many of its events still arrive. The read-ahead reports them; routing asks. */
import { setTimeout as wait } from 'node:timers/promises';

export type Backpressure = {
  /** Notes that a flood's event has just arrived. */
  flooded(): void;
  /** Whether few of a flood's events have arrived lately. */
  isLifted(): boolean;
  /** Resolves when it is lifted, or after 0.4 s: a flood must be routed too, just not first. */
  lifted(): Promise<void>;
};

const windowMs = 100;
/** Events per moment. Anything slower can be routed at once. */
const floodEventsMin = 100;
const waitMaxMs = 400;

export function makeBackpressure(now = () => performance.now()): Backpressure {
  let count = 0;
  let windowStart = Number.NEGATIVE_INFINITY;
  let floodedAt = Number.NEGATIVE_INFINITY;
  const isLifted = () => now() - floodedAt >= windowMs;
  return {
    flooded() {
      if (now() - windowStart >= windowMs) {
        windowStart = now();
        count = 0;
      }
      count += 1;
      if (count >= floodEventsMin) floodedAt = now();
    },
    isLifted,
    async lifted() {
      for (const until = now() + waitMaxMs; now() < until && !isLifted(); ) await wait(windowMs / 4);
    },
  };
}
