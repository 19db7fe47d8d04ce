/** Asks an account's limit and decides whether deliveries go now or are parked until the limit lets them go. */
import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import type { Account } from '../accounts.ts';
import type { Metrics } from '../metrics.ts';
import { type Parking, untilReleased } from '../parked/park.ts';
import type { Limit } from './bucket.ts';
import type { Grant, Throttle } from './throttle.ts';

/**
 * Splits an account's deliveries, in order: the first ones go, the others wait. All of them wait while the account has a backlog, which
 * they must not overtake. Paused deliveries wait only for the end of the pause, and are not counted.
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
    const [ofPaused, others] = [jobs.filter(isPaused), jobs.filter((job) => !isPaused(job))];
    const grants =
      hasBacklog || others.length === 0 ? [] : await throttle.admit(account.id, limitOf(account), others.length);
    const now = grants.map((grant, index) => granted(others[index]!, grant));
    const later = others.slice(grants.length).map((job) => slowed(job, metrics));
    return { now, later: [...later, ...ofPaused.map(paused)] };
  };
}

/** A job that waits until neither its account nor its hook is paused, and then for the account's limit. */
export const paused = (job: DeliveryJob): Parking => ({
  job: { ...job, wasPutAside: true },
  reason: job.attempt > 1 ? 'retry' : 'throttle',
  dueMs: untilReleased,
  isPaused: true,
});

/** A job that may go, with the time it was granted. */
export const granted = (job: DeliveryJob, { isSlowed: _isSlowed, ...moments }: Grant): DeliveryJob => ({
  ...job,
  ...moments,
  admitted: true,
});

/** A job that must wait for its account's limit. It is stamped and counted only the first time. */
export function slowed(job: DeliveryJob, metrics: Metrics): Parking {
  if (job.throttledAt === null) metrics.throttled(1);
  const stamped = { ...job, throttledAt: job.throttledAt ?? new Date().toISOString() };
  return { job: stamped, reason: job.attempt > 1 ? 'retry' : 'throttle', dueMs: untilReleased };
}

/** Whether a job is so late that, together with those in time, it would exceed its account's limit: the limit must then be asked again. */
export const isTooLate = ({ notAfterMs }: DeliveryJob): boolean => notAfterMs !== undefined && Date.now() > notAfterMs;
