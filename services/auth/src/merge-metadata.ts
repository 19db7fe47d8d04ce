/** Merges metadata as Auth0 does: named keys are set, null removes, the rest stays. */
export function merge(before: object, change: Record<string, unknown> | undefined): Record<string, unknown> {
  return Object.fromEntries(Object.entries({ ...before, ...change }).filter(([, value]) => value !== null));
}

/**
 * The same change for a database statement, `(column - removed::text[]) || set::jsonb`, so that concurrent changes do not overwrite each other.
 *
 * @returns the values to set, as JSON, and the names to remove
 */
export function parted(change: Record<string, unknown>): { set: string; removed: string[] } {
  const entries = Object.entries(change);
  const set = Object.fromEntries(entries.filter(([, value]) => value !== null && value !== undefined));
  return { set: JSON.stringify(set), removed: entries.filter(([, value]) => value === null).map(([name]) => name) };
}
