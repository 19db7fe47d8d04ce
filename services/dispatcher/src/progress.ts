/** Where work waits, and whether it moves: for readiness, which recognizes a stall by work that stands still. */
import type { Log } from '@gatepost/runtime/log';
import type { Registry } from '@gatepost/runtime/metrics';
import { type Progress, watchProgress } from '@gatepost/runtime/progress';
import type { Inbox } from './delivering/inbox.ts';
import type { Route } from './routing/route.ts';
import type { WorkCounts } from './work-counts.ts';

export function watchDispatcher(options: {
  workCounts: WorkCounts;
  routes: readonly Route[];
  inbox: Inbox;
  eventsWaiting: () => Promise<number>;
  jobsWaiting: () => Promise<number>;
  deliveryTimeoutMs: number;
  registry: Registry;
  log: Log;
}): Progress {
  const { workCounts, routes, inbox, eventsWaiting, jobsWaiting, registry, log } = options;
  return watchProgress({
    metric: 'dispatcher_stalled_seconds',
    registry,
    log,
    stages: [
      {
        name: 'events',
        hasWork: async () => routes.some((route) => route.routing() > 0) || (await eventsWaiting()) > 0,
        completed: () => workCounts.events,
      },
      {
        name: 'deliveries',
        hasWork: async () => inbox.inHand().jobs > 0 || (await jobsWaiting()) > 0,
        completed: () => workCounts.jobs,
        // Everything in hand may be attempts at hanging receivers.
        workMs: options.deliveryTimeoutMs,
      },
      { name: 'parking', hasWork: () => inbox.inHand().parking, completed: () => workCounts.parked },
      { name: 'recording', hasWork: () => inbox.inHand().recording, completed: () => workCounts.recorded },
      { name: 'pump', hasWork: () => true, completed: () => workCounts.pumped },
    ],
  });
}
