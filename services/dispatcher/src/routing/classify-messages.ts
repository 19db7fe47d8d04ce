/** Tells events, duplicates and undecided messages of a batch apart. Pure. */
import type { StoredEvent } from '@gatepost/webhook-db/events';

/**
 * - `event`: an event that we route, or that needs no routing.
 * - `duplicate`: an event that is already routed, or that another message of the batch brings.
 * - `unknown`: an event that another message brings, here or at another dispatcher; whether it will be routed is not known yet.
 */
export type MessageKind = 'event' | 'duplicate' | 'unknown';

type Row = Pick<StoredEvent, 'key' | 'isNew' | 'isRouted'>;

/**
 * `handed`: events that were not routed, and that this batch claimed (`claimUnrouted`) and handed over. `taken`: events whose only delivery we
 * make: they are not routed until it is made, and only the first message, which the broker may have redelivered by now, holds the event.
 * `redelivered` says nothing here: the message may have been held back, memory may have been short, or its dispatcher may have died before
 * or after storing the event. The event's row tells.
 */
export function classifyMessages(
  batch: readonly Row[],
  { handed, taken }: { handed: ReadonlySet<string>; taken: Pick<ReadonlySet<string>, 'has'> },
): MessageKind[] {
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
