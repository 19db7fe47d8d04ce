/** Publishes delivery jobs, and resolves when RabbitMQ has them all. */
import type { KeyObject } from 'node:crypto';
import type { Publisher } from '@gatepost/amqp/publisher';
import { type DeliveryJob, jobMessage } from '@gatepost/contracts/delivery-job';
import type { Persist } from '../persist.ts';

export type Outgoing = { job: DeliveryJob; payload: Buffer };
export type Enqueue = (jobs: Outgoing[]) => Promise<void>;

/**
 * `once` rejects when the broker did not confirm every job. `always` publishes those again until it does, marked `mayRepeat`,
 * for the broker may have them all the same. A payload too large to travel, or empty, is read from the event's row later.
 */
export function makeEnqueue(
  publisher: Publisher,
  jobKey: KeyObject,
  persist: Persist,
): { once: Enqueue; always: Enqueue } {
  const publishAll = async (jobs: Outgoing[]): Promise<void> => {
    const results = await Promise.allSettled(
      jobs.map(({ job, payload }) => publisher.publish(jobMessage(job, payload, jobKey))),
    );
    const failed = jobs.filter((_, index) => results[index]?.status === 'rejected');
    const error = results.find((result) => result.status === 'rejected')?.reason;
    if (error) throw new Unconfirmed(failed, error);
  };
  return {
    once: publishAll,
    async always(jobs) {
      let left = jobs;
      if (left.length === 0) return;
      await persist('publish delivery jobs', async () => {
        try {
          await publishAll(left);
        } catch (error) {
          if (error instanceof Unconfirmed)
            left = error.jobs.map(({ job, payload }) => ({ job: { ...job, mayRepeat: true }, payload }));
          throw error;
        }
      });
    },
  };
}

class Unconfirmed extends Error {
  override name = 'Unconfirmed';
  readonly jobs: Outgoing[];
  constructor(jobs: Outgoing[], cause: unknown) {
    super(`${jobs.length} delivery jobs are not confirmed`, { cause });
    this.jobs = jobs;
  }
}
