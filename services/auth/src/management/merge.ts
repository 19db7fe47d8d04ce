/** Auth0's way with metadata: what is named is set, null removes, the rest stays. */
export function merge(before: object, change: Record<string, unknown> | undefined): Record<string, unknown> {
  return Object.fromEntries(Object.entries({ ...before, ...change }).filter(([, value]) => value !== null));
}

/**
 * The same change for a statement of the database, `(column - removed::text[]) || set::jsonb`, so that of several at once none is lost.
 *
 * @returns what is set, as JSON, and the names of what is removed
 */
export function parted(change: Record<string, unknown>): { set: string; removed: string[] } {
  const entries = Object.entries(change);
  const set = Object.fromEntries(entries.filter(([, value]) => value !== null && value !== undefined));
  return { set: JSON.stringify(set), removed: entries.filter(([, value]) => value === null).map(([name]) => name) };
}
