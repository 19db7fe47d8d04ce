/** Moves an unusable message to `gatepost.events.dead`, with the reason. */
import type { Incoming } from '@gatepost/amqp/consumer';
import { NotPublished, type Publisher } from '@gatepost/amqp/publisher';
import type { DeadReason } from '@gatepost/contracts/dead-reason';
import { deadDetailHeader, deadEventsQueue, deadReasonHeader } from '@gatepost/contracts/topology';

/** amqplib writes up to 64 KiB of headers, including those we add: without room for ours, a message could never become a dead letter. */
const headersMaxBytes = 48 * 1024;
const detailMaxLength = 1_000;
/** Fits an AMQP short string's 255 bytes at three bytes per character. */
const idMaxLength = 80;
/** Deeper lists and tables than anybody needs; some thousand exhaust the stack. */
const depthMax = 100;

/** Resolves when the broker has the dead letter; settling the message is up to the caller. */
export async function publishDeadLetter(
  publisher: Publisher,
  message: Pick<Incoming, 'body' | 'headers' | 'messageId' | 'contentType'>,
  reason: DeadReason,
  detail: string,
): Promise<void> {
  const { body, messageId = '', contentType } = message;
  const why = { [deadReasonHeader]: reason, [deadDetailHeader]: detail.toWellFormed().slice(0, detailMaxLength) };
  const letter = { exchange: '', routingKey: deadEventsQueue, body, messageId };
  try {
    await publisher.publish({
      ...letter,
      headers: { ...fitting(ownHeaders(message.headers)), ...why },
      ...(contentType === undefined ? {} : { contentType }),
    });
  } catch (error) {
    if (!(error instanceof NotPublished) || !error.forItself) throw error;
    // Some property cannot be written back, such as an id whose bytes are not text. The body and the reason can.
    await publisher.publish({ ...letter, messageId: messageId.slice(0, idMaxLength), headers: why });
  }
}

/**
 * Drops the broker's own headers: a message republished with its death history can vanish in RabbitMQ's cycle check. Drops `CC` and `BCC`,
 * which name further queues (https://www.rabbitmq.com/docs/sender-selected) that we may write to but the publisher perhaps may not. And
 * drops headers that our client cannot write: they would keep the message from ever becoming a dead letter.
 */
function ownHeaders(headers: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(headers).filter(
      ([name, value]) => !/^(x-(death|first-death-|last-death-|delivery-count)|B?CC$)/.test(name) && isWritable(value),
    ),
  );
}

/** amqplib marks types with a member `!` and takes any table with one for its own; RabbitMQ 3.10 closes a connection that sends a void value. */
function isWritable(value: unknown, depth = 0): boolean {
  if (value === null || value === undefined) return false;
  if (typeof value !== 'object' || Buffer.isBuffer(value)) return true;
  if ('!' in value) return isMarked(value as { '!': unknown; value?: unknown });
  return depth < depthMax && Object.values(value).every((one) => isWritable(one, depth + 1));
}

/** The form in which the decoder returns AMQP timestamps and decimals. */
function isMarked({ '!': type, value }: { '!': unknown; value?: unknown }): boolean {
  if (type === 'timestamp') return isWhole(value, Number.MAX_SAFE_INTEGER);
  const { digits, places } = (value ?? {}) as { digits?: unknown; places?: unknown };
  return type === 'decimal' && isWhole(digits, 2 ** 32 - 1) && isWhole(places, 255);
}

const isWhole = (value: unknown, max: number): boolean =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= max;

/** As many headers as there is room for, shortest first: a CloudEvent's attributes are short. */
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

/** An upper bound for a header's size on the wire, where a number may take four times its JSON. */
function sizeOf(name: string, value: unknown): number {
  const bytes =
    typeof value === 'string' ? Buffer.byteLength(value) : Buffer.byteLength(JSON.stringify(value) ?? '') * 4;
  return Buffer.byteLength(name) + bytes + 16;
}
