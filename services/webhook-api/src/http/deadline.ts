/**
 * No request waits for its stores much longer than one of them may take; it is then answered 503, by default within the five seconds that
 * docs/failures.md promises. What it waits for outside of `within`, such as a slow upload, does not count.
 */
import { unavailable } from './errors.ts';

export type Deadline = {
  /** Does work that needs the stores. @throws ApiError 503 when the time is over, while the work goes on. */
  within<T>(work: () => Promise<T> | T): Promise<T>;
  /** Throws once the answer was given: what is not done by then is not to be done, since the client was told that it failed. */
  checkTime(): void;
};

export function makeDeadline(storeTimeoutMs: number): Deadline {
  const allowedMs = storeTimeoutMs + 500;
  let leftMs = allowedMs;
  let tooLate: Error | undefined;
  return {
    async within(work) {
      const startedAt = performance.now();
      const late = Promise.withResolvers<never>();
      const timer = setTimeout(() => {
        tooLate = unavailable(new Error(`no answer in ${allowedMs} ms`));
        late.reject(tooLate);
      }, leftMs);
      try {
        return await Promise.race([work(), late.promise]);
      } finally {
        clearTimeout(timer);
        leftMs -= performance.now() - startedAt;
      }
    },
    checkTime() {
      if (tooLate) throw tooLate;
    },
  };
}
