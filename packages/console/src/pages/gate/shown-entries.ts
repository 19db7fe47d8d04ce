/** The log's entries as they are shown: new ones as they arrive, before those read at first. */
import type { LogEntry } from '../../api/management-types.ts';

/** Nobody reads more than this as it passes. */
export const shownMax = 500;

/** `isCut`: older ones are not shown, since they would follow a gap that nobody sees. */
export function shownEntries<Entry extends Pick<LogEntry, 'log_id'>>(live: Entry[], past: Entry[]) {
  const isCut = live.length > shownMax;
  // A page read later begins with entries that had arrived before: each is shown once.
  const all = isCut ? live.slice(0, shownMax) : [...live, ...past];
  return { isCut, entries: [...new Map(all.map((entry) => [entry.log_id, entry])).values()] };
}
