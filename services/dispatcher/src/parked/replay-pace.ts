/** How fast replays go: a few deliveries at a time beside fresh events, more where there are none, and fewer on a machine that is late. */
import type { Moved } from '../progress.ts';

/** A round hands over `most` deliveries, of all replays together, and the next follows after `roundMs`. */
export type Pace = { most: number; roundMs: number };

const alone: Pace = { most: 15, roundMs: 50 };
/** Together, so that they cost one write to each disk; few, so that what comes meanwhile finds the stores free. */
const beside: Pace = { most: 3, roundMs: 100 };
/** So long after the last event there are no fresh ones. */
const freshMs = 1_000;
/** A round that begins so late finds a machine that has better things to do. */
const lateMs = 10;

/** `moved` tells whether events are routed here. `began` hears how late each round began; never is the pace nothing. */
export function makePace(
  moved: Pick<Moved, 'events'>,
  now: () => number = () => performance.now(),
): { pace(): Pace; began(late: number): void } {
  let { events } = moved;
  let eventAt = Number.NEGATIVE_INFINITY;
  // Halved by each round that begins late, and one more with each that does not.
  let most = alone.most;
  return {
    pace() {
      if (moved.events !== events) eventAt = now();
      events = moved.events;
      const pace = now() - eventAt < freshMs ? beside : alone;
      return { ...pace, most: Math.min(most, pace.most) };
    },
    began(late) {
      most = late > lateMs ? Math.max(1, most >> 1) : Math.min(alone.most, most + 1);
    },
  };
}
