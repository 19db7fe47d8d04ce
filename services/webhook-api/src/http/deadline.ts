/**
 * No request waits for its stores much longer than one of them may take; it is then answered 503, by default within the five seconds that
 * docs/failures.md promises.
 */
import { unavailable } from './errors.ts';

export async function withDeadline<T>(storeTimeoutMs: number, work: () => Promise<T>): Promise<T> {
  const deadlineMs = storeTimeoutMs + 500;
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(unavailable(new Error(`no answer in ${deadlineMs} ms`))), deadlineMs);
  try {
    return await Promise.race([work(), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
