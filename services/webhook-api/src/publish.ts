/**
 * Publishes requested deliveries (pings, tests, redeliveries) for the dispatcher. Each has a row in `parked` until its outcome is
 * recorded (decision 0004): if RabbitMQ loses the message, the dispatchers’ rescue sends it again.
 */
import { NotPublished, type Publisher } from '@gatepost/amqp/publisher';
import { type DeliveryJob, jobFields, jobMessage } from '@gatepost/contracts/delivery-job';
import { tracing } from '@gatepost/runtime/tracing';
import { unpark } from '@gatepost/webhook-db/parked';
import type { Queryable } from '@gatepost/webhook-db/pool';
import { parkPublished } from '@gatepost/webhook-db/requested';
import type { Parts } from './parts.ts';

/** A planned delivery; without an id it gets the next one. */
export type RequestedJob = Omit<DeliveryJob, 'deliveryId' | 'parked'> & { deliveryId?: number };

/** Parks, as already published, a delivery that `publishDelivery` will publish once this is committed. */
export async function parkDelivery(db: Queryable, job: RequestedJob): Promise<DeliveryJob> {
  const traceparent = tracing?.current();
  const traced = traceparent === undefined ? job : { ...job, traceparent };
  return { ...traced, deliveryId: await parkPublished(db, traced), parked: true };
}

/**
 * Resolves when RabbitMQ has the job. `checkTime` is that of the request which asks for it.
 * @throws NotPublished, answered to the client as 503, or ApiError 503 where that was the answer meanwhile; the delivery is then dropped, since
 * the client will ask again.
 */
export async function publishDelivery(
  { pool, publisher, jobKey, log }: Pick<Parts, 'pool' | 'publisher' | 'jobKey' | 'log'>,
  job: DeliveryJob,
  payload: Buffer,
  checkTime: () => void,
): Promise<void> {
  try {
    checkTime();
    await publisher.publish(jobMessage(job, payload, jobKey));
    checkTime(); // without its row the job is not made, unless an attempt has begun
  } catch (error) {
    await unpark(pool, [job.deliveryId]);
    throw error;
  }
  log.info(jobFields(job), 'a delivery was requested');
}

/** Called before anything is written, so that a store known to be away leaves nothing half done. */
export function checkConnected(publisher: Publisher): void {
  if (!publisher.isConnected()) throw new NotPublished('not_connected', 'cannot publish to RabbitMQ');
}
