/** Offers events at a rate, however slow the rest is. */
import type { Producer } from '@gatepost/testkit/producer';
import { payload } from './payload.ts';

const maxUnconfirmed = 2_000;

/**
 * Publishes `total` events at `rate` per second, to each of `subjects` in turn, or fewer if `stop` aborts. Resolves to the number published
 * once the broker has confirmed them all.
 */
export async function offer(
  producer: Producer,
  options: {
    rate: number;
    total: number;
    subjects: string[];
    stop?: AbortSignal;
    /** Called with each id that the broker has confirmed. */
    confirmed?: (id: string) => void;
  },
): Promise<number> {
  const { rate, total, subjects, stop, confirmed } = options;
  const from = performance.now();
  const confirms = new Set<Promise<unknown>>();
  let published = 0;
  while (published < total && !stop?.aborted) {
    const due = Math.min(total, Math.ceil(((performance.now() - from) / 1000) * rate) + 1);
    while (published < due && confirms.size < maxUnconfirmed) {
      const subject = subjects[published % subjects.length]!; // there is at least one
      published += 1;
      const confirm: Promise<unknown> = producer
        .publish({
          subject,
          headers: { 'cloudEvents:partitionkey': subject.split('/', 1)[0] },
          body: payload(performance.timeOrigin + performance.now()),
        })
        .then(confirmed)
        .finally(() => confirms.delete(confirm));
      confirms.add(confirm);
    }
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await Promise.all(confirms);
  return published;
}
