/**
 * Hands deliveries that somebody asked for (pings, tests, redeliveries) to the dispatcher, as messages. Each has a row in `parked`
 * until its outcome is recorded (decision 0402): should RabbitMQ lose the message, the dispatchers' rescue sends it again.
 */
import { NotPublished, type Publisher } from '@gatepost/amqp/publisher';
import { type DeliveryJob, jobMessage } from '@gatepost/contracts/delivery-job';
import type { Pool } from '@gatepost/webhook-db/pool';
import type { Parts } from './parts.ts';

/** A delivery to be; without an id it gets the next one. */
export type AskedJob = Omit<DeliveryJob, 'deliveryId' | 'parked'> & { deliveryId?: number };

/** Writes down, as handed to RabbitMQ, what `publishDelivery` is to hand over once this is committed. */
export async function parkDelivery(db: Pick<Pool, 'query'>, job: AskedJob): Promise<DeliveryJob> {
  const { rows } = await db.query<{ delivery_id: string }>({
    name: 'park a delivery',
    text: `INSERT INTO parked (delivery_id, account_id, reason, due_at, published_at, event_key, event_on, job)
           VALUES (coalesce($1, nextval('delivery_ids')), $2, 'retry', now(), now(), $3, $4, $5) RETURNING delivery_id`,
    values: [job.deliveryId ?? null, job.accountId, job.eventKey, job.eventOn, JSON.stringify(job)],
  });
  return { ...job, deliveryId: Number(rows[0]!.delivery_id), parked: true };
}

/**
 * Resolves when RabbitMQ has the job.
 * @throws NotPublished, which the client hears of as 503; then the delivery is forgotten, since the client will ask again.
 */
export async function publishDelivery(
  { pool, publisher, jobKey }: Pick<Parts, 'pool' | 'publisher' | 'jobKey'>,
  job: DeliveryJob,
  payload: Buffer,
): Promise<void> {
  try {
    await publisher.publish(jobMessage(job, payload, jobKey));
  } catch (error) {
    await pool.query('DELETE FROM parked WHERE delivery_id = $1', [job.deliveryId]);
    throw error;
  }
}

/** For asking before anything is written: a store that is known to be away must not leave things half made. */
export function checkConnected(publisher: Publisher): void {
  if (!publisher.isConnected()) throw new NotPublished('not_connected', 'no connection to RabbitMQ');
}
