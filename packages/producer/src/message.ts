/** An event as its producer states it, and the AMQP message that it becomes (docs/asyncapi.yaml, in binary mode). */
import {
  attributeHeaders,
  type DeadReason,
  type EventMessage,
  eventGuid,
  parseEvent,
  payloadMaxBytes,
} from '@gatepost/contracts/event';

export type NewEvent = {
  /** Event type, such as `push`: `[a-z0-9_]{1,64}`; also the routing key. */
  type: string;
  /** Where it occurred: `owner/repo`, or `owner` for an organization-level event. */
  subject: string;
  /** Unique per source. Default: a new UUID. Two events of a subject with one id are one event: the second is dropped for a day. */
  id?: string;
  /** When it occurred. Default: now. */
  time?: Date | string;
  /** Such as `opened`. Default: the payload's own `action`. */
  action?: string;
  /** For `push`, `create` and `delete`: how many tags it carries; above 3 no delivery is triggered. */
  tagspushed?: number;
} & (
  | {
      /** The payload; it is written as JSON. */
      data: object;
      body?: never;
    }
  | {
      /** The payload as it is: a JSON object in UTF-8, at most 25 MB. Receivers get these very bytes. */
      body: Uint8Array | string;
      data?: never;
    }
);

export type PreparedMessage = EventMessage & { type: string; contentType: string };

export type Prepared =
  | { kind: 'message'; message: PreparedMessage; guid: string }
  | { kind: 'invalid'; reason: DeadReason; detail: string };

/**
 * Makes the message, and checks it by the very function that the dispatcher reads it with: what passes here is never a dead
 * letter there.
 */
export function prepare(event: NewEvent, id: string, source: string): Prepared {
  const body = bytesOf(event);
  if (!body) return { kind: 'invalid', reason: 'not_json', detail: '`data` cannot be written as JSON' };
  // Before it is parsed, which takes several times its size.
  if (body.length > payloadMaxBytes)
    return {
      kind: 'invalid',
      reason: 'too_large',
      detail: `${body.length} bytes; at most ${payloadMaxBytes} are taken`,
    };
  const message = { contentType: 'application/json', headers: headersOf(event, id, source), body };
  const parsed = parseEvent(message);
  if (parsed.kind === 'dead') return { kind: 'invalid', reason: parsed.reason, detail: parsed.detail };
  return { kind: 'message', message: { ...message, type: parsed.event.type }, guid: eventGuid({ id, source }) };
}

function headersOf(event: NewEvent, id: string, source: string): Record<string, unknown> {
  const { type, subject, action, tagspushed, time: given = new Date() } = event;
  const time = given instanceof Date && !Number.isNaN(given.getTime()) ? given.toISOString() : String(given);
  return attributeHeaders({ id, source, type, subject, time, action, tagspushed });
}

function bytesOf({ data, body }: NewEvent): Buffer | undefined {
  if (body === undefined) {
    try {
      const json = JSON.stringify(data) as string | undefined; // a function, for one, has no JSON
      return json === undefined ? undefined : Buffer.from(json);
    } catch {
      return undefined; // a circle, or a BigInt
    }
  }
  if (typeof body === 'string') return Buffer.from(body);
  return Buffer.isBuffer(body) ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
}
