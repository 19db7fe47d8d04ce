/** What each message of a batch brings. Pure. */
import type { StoredEvent } from './store-events.ts';

/**
 * - `event`: its event, to be routed by us, or nothing follows from it.
 * - `duplicate`: an event that is routed, or that another message of the batch brings.
 * - `unknown`: an event that another dispatcher is routing. Whether it gets to the end shows later.
 */
export type Brings = 'event' | 'duplicate' | 'unknown';

type Row = Pick<StoredEvent, 'key' | 'isNew' | 'isRouted'>;

/**
 * `mine`: the events that were not routed, and that this batch has taken on itself (`claimUnrouted`). Whether a message was in other
 * hands before (`redelivered`) says nothing here: it may have been held back, or left for want of memory, or its dispatcher may have
 * died over its event, before or after it stored it. The event's row tells.
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
