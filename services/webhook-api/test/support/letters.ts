import type { Publisher } from '@gatepost/amqp/publisher';
import { deadDetailHeader, deadEventsQueue, deadReasonHeader } from '@gatepost/contracts/topology';

/** Publishes a dead letter, as the dispatcher would. */
export function bury(
  publisher: Publisher,
  letter: { messageId: string; reason: string; headers?: Record<string, unknown>; body?: string },
): Promise<void> {
  return publisher.publish({
    exchange: '',
    routingKey: deadEventsQueue,
    body: Buffer.from(letter.body ?? '{'),
    messageId: letter.messageId,
    headers: { ...letter.headers, [deadReasonHeader]: letter.reason, [deadDetailHeader]: 'for the test' },
  });
}

/** Names an event to whoever looks at its message without parsing it. */
export const headersOf = (id: string, subject?: string) => ({
  'cloudEvents:id': id,
  'cloudEvents:source': 'urn:test',
  ...(subject && { 'cloudEvents:subject': subject }),
});
