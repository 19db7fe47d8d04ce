/** A share of durations that were counted in buckets, as an estimate. Pure. */
import { bucketsMs } from '@gatepost/webhook-db/stats';

/**
 * The duration in milliseconds that `share` of them does not exceed: within its bucket they are taken to lie evenly. Beyond the last bucket
 * it is that one's end, of which is known only that it took longer. null: there are none.
 */
export function quantileMs(buckets: readonly number[], share: number): number | null {
  const total = buckets.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let below = 0;
  for (const [index, count] of buckets.entries()) {
    const from = index === 0 ? 0 : bucketsMs[index - 1]!;
    const to = bucketsMs[index];
    if (below + count >= share * total && count > 0)
      return to === undefined ? from : rounded(from + ((share * total - below) / count) * (to - from));
    below += count;
  }
  return bucketsMs.at(-1)!;
}

const rounded = (ms: number) => Math.round(ms * 10) / 10;
