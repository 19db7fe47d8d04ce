/** How fast replays go: a few deliveries at a time beside fresh events, more without them, and fewer on an overloaded machine. */
import type { WorkCounts } from '../work-counts.ts';

/** A round hands over `most` deliveries of all replays together; the next round follows after `roundMs`. */
export type Pace = { most: number; roundMs: number };

const fullPace: Pace = { most: 15, roundMs: 50 };
/** Together, so that they share one write to each disk; few, so that other work finds the stores free. */
const reducedPace: Pace = { most: 3, roundMs: 100 };
/** This long after the last event, no events count as fresh. */
const freshMs = 1_000;
/** A round that starts this late shows that the machine is too busy. */
const lateMs = 10;

/** `workCounts` tells whether events are being routed here. `began` reports how late each round started. The pace is never zero. */
export function makePace(
  workCounts: Pick<WorkCounts, 'events'>,
  now: () => number = () => performance.now(),
): { pace(): Pace; began(late: number): void } {
  let { events } = workCounts;
  let eventAt = Number.NEGATIVE_INFINITY;
  // Halved by each late round, and raised by one with each other.
  let most = fullPace.most;
  return {
    pace() {
      if (workCounts.events !== events) eventAt = now();
      events = workCounts.events;
      const pace = now() - eventAt < freshMs ? reducedPace : fullPace;
      return { ...pace, most: Math.min(most, pace.most) };
    },
    began(late) {
      most = late > lateMs ? Math.max(1, most >> 1) : Math.min(fullPace.most, most + 1);
    },
  };
}
