/** What each message of a batch brings. Pure. */
import type { StoredEvent } from '@gatepost/webhook-db/events';

/**
 * - `event`: an event that we route, or from which nothing follows.
 * - `duplicate`: an event that is routed, or that another message of the batch brings.
 * - `unknown`: an event that another message brings, here or at another dispatcher; whether it will be routed is not known yet.
 */
export type Brings = 'event' | 'duplicate' | 'unknown';

type Row = Pick<StoredEvent, 'key' | 'isNew' | 'isRouted'>;

/**
 * `handed`: the events that were not routed, and that this batch has claimed (`claimUnrouted`) and handed over. `taken`: those whose only
 * delivery we are to make: until it is made they are not routed, and only the first message holds it, which the broker may have handed out
 * again by now. That a message was delivered before (`redelivered`) says nothing here: it may have been held back, memory may have been
 * short, or its dispatcher may have died before or after it stored the event. The event's row tells.
 */
export function whatEachBrings(
  batch: readonly Row[],
  { handed, taken }: { handed: ReadonlySet<string>; taken: Pick<ReadonlySet<string>, 'has'> },
): Brings[] {
  const seen = new Set<string>();
  return batch.map(({ key, isNew, isRouted }) => {
    const isFirst = !seen.has(key);
    seen.add(key);
    if (!isRouted && !handed.has(key)) return isFirst && taken.has(key) ? 'event' : 'unknown';
    if (!isFirst) return 'duplicate';
    // A new row counts as routed when there is nothing to route.
    return isNew || !isRouted ? 'event' : 'duplicate';
  });
}
