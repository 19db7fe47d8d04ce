/** Publishes delivery jobs, and resolves when RabbitMQ has them all. */
import type { KeyObject } from 'node:crypto';
import type { Publisher } from '@gatepost/amqp/publisher';
import { type DeliveryJob, jobMessage } from '@gatepost/contracts/delivery-job';

export type Outgoing = { job: DeliveryJob; payload: Buffer };
export type Enqueue = (jobs: Outgoing[]) => Promise<void>;

/**
 * Rejects with `Unconfirmed` when the broker did not confirm every job; it may have those all the same. A payload too large to
 * travel, or empty, is read from the event's row later.
 */
export function makeEnqueue(publisher: Publisher, jobKey: KeyObject): Enqueue {
  return async (jobs) => {
    const results = await Promise.allSettled(
      jobs.map(({ job, payload }) => publisher.publish(jobMessage(job, payload, jobKey))),
    );
    const failed = jobs.filter((_, index) => results[index]?.status === 'rejected');
    const error = results.find((result) => result.status === 'rejected')?.reason;
    if (error) throw new Unconfirmed(failed, error);
  };
}

export class Unconfirmed extends Error {
  override name = 'Unconfirmed';
  readonly jobs: Outgoing[];
  constructor(jobs: Outgoing[], cause: unknown) {
    super(`${jobs.length} delivery jobs are not confirmed`, { cause });
    this.jobs = jobs;
  }
}
