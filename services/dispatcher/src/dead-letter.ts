/** Moves a message that cannot be taken to `gatepost.events.dead`, with the reason. */
import type { Incoming } from '@gatepost/amqp/consumer';
import type { Publisher } from '@gatepost/amqp/publisher';
import type { DeadReason } from '@gatepost/contracts/event';
import { deadDetailHeader, deadEventsQueue, deadReasonHeader } from '@gatepost/contracts/topology';

/** Resolves when the broker has the dead letter; settling the message is the caller's. */
export function publishDeadLetter(
  publisher: Publisher,
  message: Incoming,
  reason: DeadReason,
  detail: string,
): Promise<void> {
  return publisher.publish({
    exchange: '',
    routingKey: deadEventsQueue,
    body: message.body,
    headers: { ...ownHeaders(message.headers), [deadReasonHeader]: reason, [deadDetailHeader]: detail },
    messageId: message.messageId ?? '',
    ...(message.contentType === undefined ? {} : { contentType: message.contentType }),
  });
}

/** Without the broker's own: a message republished with its death history can vanish in RabbitMQ's cycle check. */
function ownHeaders(headers: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !/^x-(death|first-death-|last-death-|delivery-count)/.test(name)),
  );
}
