/** Finds the one item of a batch that nobody takes, so that it does not hold up the others. */

/**
 * Works a batch off; of one that `work` rejects, each half in turn, down to a single item, which `alone` hears of with the error.
 * Errors for which `isNobodysFault` holds are thrown as they come, and the rest is left.
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
