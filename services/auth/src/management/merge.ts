/** Auth0's way with metadata: what is named is set, null removes, the rest stays. */
export function merge(before: object, change: Record<string, unknown> | undefined): Record<string, unknown> {
  return Object.fromEntries(Object.entries({ ...before, ...change }).filter(([, value]) => value !== null));
}
