/** Where something waits, and whether it moves there: for readiness, which tells a stall by what stands still. */
import type { Log } from '@gatepost/runtime/log';
import type { Registry } from '@gatepost/runtime/metrics';
import { type Progress, watchProgress } from '@gatepost/runtime/progress';
import type { Inbox } from './delivering/inbox.ts';
import type { Route } from './routing/route.ts';

/** Counts of what has been done at each stage of the way. */
export type Moved = {
  /** Events routed, or found to be none. */
  events: number;
  /** Delivery jobs settled, whatever became of them. */
  jobs: number;
  parked: number;
  recorded: number;
  /** Looks at what is due, with what followed. */
  pumped: number;
};

export const makeMoved = (): Moved => ({ events: 0, jobs: 0, parked: 0, recorded: 0, pumped: 0 });

export function watchDispatcher(options: {
  moved: Moved;
  routes: readonly Route[];
  inbox: Inbox;
  eventsWaiting: () => Promise<number>;
  jobsWaiting: () => Promise<number>;
  deliveryTimeoutMs: number;
  registry: Registry;
  log: Log;
}): Progress {
  const { moved, routes, inbox, eventsWaiting, jobsWaiting, registry, log } = options;
  return watchProgress({
    metric: 'dispatcher_stalled_seconds',
    registry,
    log,
    stages: [
      {
        name: 'events',
        waits: async () => routes.some((route) => route.routing() > 0) || (await eventsWaiting()) > 0,
        moved: () => moved.events,
      },
      {
        name: 'deliveries',
        waits: async () => inbox.inHand().jobs > 0 || (await jobsWaiting()) > 0,
        moved: () => moved.jobs,
        // All that is in hand may be attempts at receivers that hang.
        patienceMs: 60_000 + options.deliveryTimeoutMs,
      },
      { name: 'parking', waits: () => inbox.inHand().parking, moved: () => moved.parked },
      { name: 'recording', waits: () => inbox.inHand().recording, moved: () => moved.recorded },
      { name: 'pump', waits: () => true, moved: () => moved.pumped },
    ],
  });
}
