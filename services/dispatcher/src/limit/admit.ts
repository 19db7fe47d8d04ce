/** Asks an account's limit, and says what follows for its deliveries: they go now, or wait in the parking until the limit lets them go. */
import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import type { Account } from '../accounts.ts';
import type { Metrics } from '../metrics.ts';
import { type Parking, untilReleased } from '../parked/park.ts';
import type { Limit } from './bucket.ts';
import type { Grant, Throttle } from './throttle.ts';

/**
 * Parts deliveries of one account, in their order: the first ones go, the others wait. All do that while the account has a backlog, which
 * they must not overtake. What is paused waits for that alone, and is not counted.
 */
export type Admit = (account: Account, hasBacklog: boolean, jobs: DeliveryJob[]) => Promise<Admitted>;
export type Admitted = { now: DeliveryJob[]; later: Parking[] };

export function makeAdmit(
  throttle: Pick<Throttle, 'admit'>,
  limitOf: (account: Pick<Account, 'throttle'>) => Limit,
  metrics: Metrics,
): Admit {
  return async (account, hasBacklog, jobs) => {
    const isPaused = (job: DeliveryJob) => account.hooks.get(job.hookId)?.paused === true;
    const [paused, others] = [jobs.filter(isPaused), jobs.filter((job) => !isPaused(job))];
    const grants =
      hasBacklog || others.length === 0 ? [] : await throttle.admit(account.id, limitOf(account), others.length);
    const now = grants.map((grant, index) => granted(others[index]!, grant));
    const later = others.slice(grants.length).map((job) => slowed(job, metrics));
    return { now, later: [...later, ...paused.map(held)] };
  };
}

/** A job that waits until its account or its hook is paused no more, and then for the account's limit. */
export const held = (job: DeliveryJob): Parking => ({
  job,
  reason: job.attempt > 1 ? 'retry' : 'throttle',
  dueMs: untilReleased,
  held: true,
});

/** A job that may go, and when. */
export const granted = (job: DeliveryJob, grant: Grant): DeliveryJob => ({ ...job, ...grant, admitted: true });

/** A job that has to wait for its account's limit. It is stamped once, and counted. */
export function slowed(job: DeliveryJob, metrics: Metrics): Parking {
  if (job.throttledAt === null) metrics.throttled(1);
  const stamped = { ...job, throttledAt: job.throttledAt ?? new Date().toISOString() };
  return { job: stamped, reason: job.attempt > 1 ? 'retry' : 'throttle', dueMs: untilReleased };
}

/** Whether a job comes so late that it would go beyond its account's limit, beside those in time: then the limit is to be asked anew. */
export const isTooLate = ({ notAfterMs }: DeliveryJob): boolean => notAfterMs !== undefined && Date.now() > notAfterMs;
