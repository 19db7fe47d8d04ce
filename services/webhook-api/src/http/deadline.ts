/**
 * No request waits for its stores much longer than one of them may take; it is then answered 503, by default within the five seconds that
 * docs/failures.md promises.
 */
import { unavailable } from './errors.ts';

/** `checkTime` throws once the answer was given: what has not begun by then is not to begin, since the client was told that it failed. */
export async function withDeadline<T>(storeTimeoutMs: number, work: (checkTime: () => void) => Promise<T>): Promise<T> {
  const deadlineMs = storeTimeoutMs + 500;
  const late = Promise.withResolvers<never>();
  let tooLate: Error | undefined;
  const timer = setTimeout(() => {
    tooLate = unavailable(new Error(`no answer in ${deadlineMs} ms`));
    late.reject(tooLate);
  }, deadlineMs);
  const checkTime = () => {
    if (tooLate) throw tooLate;
  };
  try {
    return await Promise.race([work(checkTime), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
