/** Counts failed attempts by hook, to show which endpoints fail most: bounded in memory, and not a metric label. */
import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import type { Outcome } from './delivering/classify.ts';
import type { Hook } from './hook.ts';

type Failed = Extract<Outcome, { kind: 'failed' }>;

export type FailingHook = {
  hook: number;
  account: number;
  /** Scheme, host and port: a path may hold a secret. */
  origin: string;
  failures: number;
  /** Of the last failure. */
  status: string;
  error: string | null;
  at: string;
};

export type FailingHooks = {
  note(job: DeliveryJob, hook: Pick<Hook, 'target'>, outcome: Failed): void;
  /** The hooks with the most failures at this dispatcher since then, ten to twenty minutes ago. */
  top(): { since: string; hooks: FailingHook[] };
};

const windowMs = 600_000;
const hooksMax = 10_000;
const shownMax = 20;

/** Beyond 10,000 hooks failing within ten minutes, further ones are not counted. */
export function makeFailingHooks(now: () => number = Date.now): FailingHooks {
  let current = { beganAt: now(), hooks: new Map<number, FailingHook>() };
  let before = current;
  const turn = () => {
    if (now() - current.beganAt < windowMs) return;
    // Drops old counts when nothing has failed since.
    const isRecent = now() - current.beganAt < 2 * windowMs;
    const next = { beganAt: now(), hooks: new Map<number, FailingHook>() };
    before = isRecent ? current : next;
    current = next;
  };
  return {
    note(job, { target }, { status, error }) {
      turn();
      const known = current.hooks.get(job.hookId);
      if (!known && current.hooks.size >= hooksMax) return;
      current.hooks.set(job.hookId, {
        hook: job.hookId,
        account: job.accountId,
        origin: target.origin,
        failures: (known?.failures ?? 0) + 1,
        status,
        error,
        at: new Date(now()).toISOString(),
      });
    },
    top() {
      turn();
      const hooks = new Map(before.hooks);
      if (before !== current)
        for (const [id, hook] of current.hooks)
          hooks.set(id, { ...hook, failures: hook.failures + (before.hooks.get(id)?.failures ?? 0) });
      const most = [...hooks.values()].sort((a, b) => b.failures - a.failures || a.hook - b.hook);
      return { since: new Date(before.beganAt).toISOString(), hooks: most.slice(0, shownMax) };
    },
  };
}
