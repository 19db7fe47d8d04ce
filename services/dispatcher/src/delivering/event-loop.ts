/** How busy this process is, by Node's event loop utilization: the share of time in which the loop had work. */
import { performance } from 'node:perf_hooks';

const busyUtilization = 0.9;
const everyMs = 200;

/** Answers whether the event loop had hardly any time to spare in the last moment. Looks again at most every 200 ms. */
export function makeIsBusy(now: () => number = performance.now.bind(performance)): () => boolean {
  let since = performance.eventLoopUtilization();
  let lookedAt = now();
  let isBusy = false;
  return () => {
    if (now() - lookedAt < everyMs) return isBusy;
    const current = performance.eventLoopUtilization();
    isBusy = performance.eventLoopUtilization(current, since).utilization > busyUtilization;
    since = current;
    lookedAt = now();
    return isBusy;
  };
}
