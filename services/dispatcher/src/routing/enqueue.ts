/** Publishes delivery jobs, and resolves when RabbitMQ has them all. */
import type { KeyObject } from 'node:crypto';
import type { Publisher } from '@gatepost/amqp/publisher';
import { type DeliveryJob, jobMessage } from '@gatepost/contracts/delivery-job';
import { isAway } from '@gatepost/runtime/store-errors';

export type Outgoing = { job: DeliveryJob; payload: Buffer };
export type Enqueue = (jobs: Outgoing[]) => Promise<void>;

/**
 * Rejects with `Unconfirmed` when the broker did not confirm every job; it may have the others all the same. A payload that is empty or too
 * large to travel is read from the event's row later.
 */
export function makeEnqueue(publisher: Publisher, jobKey: KeyObject, shards: number): Enqueue {
  return async (jobs) => {
    const results = await Promise.allSettled(
      jobs.map(({ job, payload }) => publisher.publish(jobMessage(job, payload, jobKey, shards))),
    );
    const failed = jobs.filter((_, index) => results[index]?.status === 'rejected');
    const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    // An error not explained by the broker's absence takes precedence; otherwise it would be retried for ever along with those that are.
    if (errors.length > 0) throw new Unconfirmed(failed, errors.find((error) => !isAway(error)) ?? errors[0]);
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
