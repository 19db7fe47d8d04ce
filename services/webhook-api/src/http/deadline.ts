/** No request waits longer than this for a store; then it is answered 503, within the five seconds that docs/failures.md promises. */
import { unavailable } from './errors.ts';

const deadlineMs = 4_500;

export async function withDeadline<T>(work: () => Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(unavailable(new Error(`no answer in ${deadlineMs} ms`))), deadlineMs);
  try {
    return await Promise.race([work(), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
