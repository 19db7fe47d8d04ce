/** Prometheus metrics of one process. Each metric is declared in the file whose work it counts. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export { Counter, Gauge, Histogram, Registry };

/** A registry with Node's default metrics. One per process; tests make one each. */
export function openMetrics(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}

/** `http_request_duration_seconds{method,route,status}`; `route` is a template (`/repos/{owner}/{repo}/hooks`), never a path. */
export function httpDuration(registry: Registry): Histogram<'method' | 'route' | 'status'> {
  return new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the request head to the end of the response',
    labelNames: ['method', 'route', 'status'],
    // 2 s is where the alert SlowAnswers begins.
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 2.5, 5, 10],
    registers: [registry],
  });
}
