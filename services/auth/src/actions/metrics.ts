/** Metrics of actions. */
import { Counter, Histogram, type Registry } from '@gatepost/runtime/metrics';

export type ActionMetrics = { runs: Counter<'trigger' | 'result'>; duration: Histogram<'trigger'> };

export function openActionMetrics(registry: Registry): ActionMetrics {
  return {
    runs: new Counter({
      name: 'auth_actions_total',
      help: 'Runs of actions by trigger and result: done, or why one failed',
      labelNames: ['trigger', 'result'],
      registers: [registry],
    }),
    duration: new Histogram({
      name: 'auth_actions_duration_seconds',
      help: 'Time of one run of an action',
      labelNames: ['trigger'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers: [registry],
    }),
  };
}
