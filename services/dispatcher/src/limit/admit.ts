/** Asks an account's limit, and says what follows for its deliveries: they go now, or wait in the parking until the limit lets them go. */
import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import type { Account } from '../accounts.ts';
import type { Metrics } from '../metrics.ts';
import { type Parking, untilReleased } from '../parked/park.ts';
import type { Limit } from './bucket.ts';
import type { Grant, Throttle } from './throttle.ts';

/**
 * Parts deliveries of one account, in their order: the first ones go, the others wait. All do that while the account has a backlog, which
 * they must not overtake.
 */
export type Admit = (account: Account, hasBacklog: boolean, jobs: DeliveryJob[]) => Promise<Admitted>;
export type Admitted = { now: DeliveryJob[]; later: Parking[] };

export function makeAdmit(
  throttle: Pick<Throttle, 'admit'>,
  limitOf: (account: Pick<Account, 'throttle'>) => Limit,
  metrics: Metrics,
): Admit {
  return async (account, hasBacklog, jobs) => {
    const grants = hasBacklog ? [] : await throttle.admit(account.id, limitOf(account), jobs.length);
    const now = grants.map((grant, index) => granted(jobs[index]!, grant));
    const later = jobs.slice(grants.length).map((job) => slowed(job, metrics));
    return { now, later };
  };
}

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
