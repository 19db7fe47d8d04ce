/** Finds the one item that makes a batch fail, so that it does not hold up the others. */

/**
 * Calls `work` with a batch; if that rejects, with each half in turn, down to a single item, which goes to `alone` with the error. Errors for
 * which `isNobodysFault` holds are rethrown, and the rest of the batch is skipped.
 */
export async function inHalves<T>(
  items: readonly T[],
  {
    work,
    alone,
    isNobodysFault,
  }: {
    work: (items: readonly T[]) => Promise<unknown>;
    alone: (item: T, error: unknown) => Promise<void>;
    isNobodysFault: (error: unknown) => boolean;
  },
): Promise<void> {
  const left: (readonly T[])[] = [items];
  for (let some = left.pop(); some !== undefined; some = left.pop()) {
    if (some.length === 0) continue;
    try {
      await work(some);
    } catch (error) {
      if (isNobodysFault(error)) throw error;
      if (some.length === 1) {
        await alone(some[0]!, error);
        continue;
      }
      const middle = some.length >> 1;
      left.push(some.slice(middle), some.slice(0, middle));
    }
  }
}
