/** Hands deliveries that somebody asked for (pings, tests, redeliveries) to the dispatcher, as messages. */
import { NotPublished, type Publisher } from '@gatepost/amqp/publisher';
import { type DeliveryJob, jobBodyMaxBytes, jobHeaders } from '@gatepost/contracts/delivery-job';
import { deliveriesQueue } from '@gatepost/contracts/topology';

const nothing = Buffer.alloc(0);

/** Resolves when RabbitMQ has the job. @throws NotPublished, which the client hears of as 503. */
export function publishDelivery(publisher: Publisher, job: DeliveryJob, payload: Buffer): Promise<void> {
  return publisher.publish({
    exchange: '',
    routingKey: deliveriesQueue,
    body: payload.length <= jobBodyMaxBytes ? payload : nothing,
    headers: jobHeaders(job),
    contentType: 'application/json',
    messageId: String(job.deliveryId),
  });
}

/** For asking before anything is written: a store that is known to be away must not leave things half made. */
export function checkConnected(publisher: Publisher): void {
  if (!publisher.isConnected()) throw new NotPublished('not_connected', 'no connection to RabbitMQ');
}
