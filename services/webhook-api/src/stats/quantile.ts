/** Estimates a quantile of durations counted in buckets. Pure. */
import { bucketsMs } from '@gatepost/webhook-db/stats';

/**
 * The duration in milliseconds that `share` of them does not exceed, assuming an even distribution within its bucket. Beyond the last bucket it
 * is that bucket's bound; all that is known is that they took longer. null: there are none.
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
