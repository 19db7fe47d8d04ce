/** Whether and when a failed attempt is followed by another (RETRY_SCHEDULE_SECONDS). Pure. */
import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import type { Outcome } from './classify.ts';
import type { Attempt } from './post.ts';

const retryAfterMinMs = 1_000;
const retryAfterMaxMs = 24 * 3_600_000;
const jitter = 0.1;

/**
 * Milliseconds until the next attempt, or undefined if there is none: the attempt succeeded, the schedule is exhausted, the hook has
 * retries off, or the receiver answered 410 Gone. A receiver's `Retry-After` replaces the scheduled wait, within 1 s and 24 h; the
 * scheduled one is jittered by 10 % either way, so that deliveries that failed together do not come back together.
 */
export function retryWaitMs(
  job: Pick<DeliveryJob, 'attempt' | 'retries'>,
  hookRetries: boolean,
  attempt: Attempt,
  outcome: Outcome,
  scheduleSeconds: readonly number[],
  nowMs: number,
  random: () => number = Math.random,
): number | undefined {
  const scheduled = scheduleSeconds[job.attempt - 1];
  if (outcome.kind === 'delivered' || scheduled === undefined || !job.retries || !hookRetries) return undefined;
  if (attempt.kind === 'response') {
    if (attempt.status === 410) return undefined;
    const asked = parseRetryAfter(attempt.headers['retry-after'], nowMs);
    if (asked !== undefined) return Math.min(retryAfterMaxMs, Math.max(retryAfterMinMs, asked));
  }
  return scheduled * 1000 * (1 - jitter + 2 * jitter * random());
}

/** RFC 9110 section 10.2.3: seconds, or an HTTP date. */
function parseRetryAfter(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d{1,9}$/.test(value.trim())) return Number(value) * 1000;
  const date = /GMT$/.test(value.trim()) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}
