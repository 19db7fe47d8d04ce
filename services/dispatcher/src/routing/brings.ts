/** What each message of a batch brings. Pure. */
import type { StoredEvent } from '@gatepost/webhook-db/events';

/**
 * - `event`: an event that we route, or from which nothing follows.
 * - `duplicate`: an event that is routed, or that another message of the batch brings.
 * - `unknown`: an event that another dispatcher is routing; whether it succeeds is not known yet.
 */
export type Brings = 'event' | 'duplicate' | 'unknown';

type Row = Pick<StoredEvent, 'key' | 'isNew' | 'isRouted'>;

/**
 * `mine`: the events that were not routed, and that this batch has claimed (`claimUnrouted`). That a message was delivered before
 * (`redelivered`) says nothing here: it may have been held back, memory may have been short, or its dispatcher may have
 * died before or after it stored the event. The event's row tells.
 */
export function whatEachBrings(batch: readonly Row[], mine: ReadonlySet<string>): Brings[] {
  const seen = new Set<string>();
  return batch.map(({ key, isNew, isRouted }) => {
    const isFirst = !seen.has(key);
    seen.add(key);
    if (!isRouted && !mine.has(key)) return 'unknown';
    if (!isFirst) return 'duplicate';
    // A new row counts as routed when there is nothing to route.
    return isNew || !isRouted ? 'event' : 'duplicate';
  });
}
