/** Moves a message that cannot be taken to `gatepost.events.dead`, with the reason. */
import type { Incoming } from '@gatepost/amqp/consumer';
import type { Publisher } from '@gatepost/amqp/publisher';
import type { DeadReason } from '@gatepost/contracts/event';
import { deadDetailHeader, deadEventsQueue, deadReasonHeader } from '@gatepost/contracts/topology';

/** amqplib writes headers of up to 64 KiB, and ours come on top: without room for them a message could never be buried. */
const headersMaxBytes = 48 * 1024;
const detailMaxLength = 1_000;

/** Resolves when the broker has the dead letter; settling the message is the caller's. */
export function publishDeadLetter(
  publisher: Publisher,
  message: Pick<Incoming, 'body' | 'headers' | 'messageId' | 'contentType'>,
  reason: DeadReason,
  detail: string,
): Promise<void> {
  return publisher.publish({
    exchange: '',
    routingKey: deadEventsQueue,
    body: message.body,
    headers: {
      ...fitting(ownHeaders(message.headers)),
      [deadReasonHeader]: reason,
      [deadDetailHeader]: detail.toWellFormed().slice(0, detailMaxLength),
    },
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

/** As many headers as there is room for, the short ones first: a CloudEvent's attributes are short. */
function fitting(headers: Record<string, unknown>): Record<string, unknown> {
  const sized = Object.entries(headers).map(([name, value]) => ({ name, value, bytes: sizeOf(name, value) }));
  let bytes = 0;
  const kept = sized
    .sort((a, b) => a.bytes - b.bytes)
    .filter((header) => {
      bytes += header.bytes;
      return bytes <= headersMaxBytes;
    });
  return Object.fromEntries(kept.map(({ name, value }) => [name, value]));
}

/** No less than what a header takes on the wire, where a number may take four times its JSON. */
function sizeOf(name: string, value: unknown): number {
  const bytes =
    typeof value === 'string' ? Buffer.byteLength(value) : Buffer.byteLength(JSON.stringify(value) ?? '') * 4;
  return Buffer.byteLength(name) + bytes + 16;
}
