/** The AMQP message for an event (docs/asyncapi.yaml, in binary mode). */
import type { DeadReason } from '@gatepost/contracts/dead-reason';
import { parseEvent, payloadMaxBytes } from '@gatepost/contracts/event';
import { attributeHeaders, type EventMessage } from '@gatepost/contracts/event-headers';
import { eventGuid } from '@gatepost/contracts/event-identity';
import { traceHeader } from '@gatepost/contracts/topology';
import type { NewEvent } from './new-event.ts';

export type PreparedMessage = EventMessage & { type: string; contentType: string };

export type Prepared =
  | { kind: 'message'; message: PreparedMessage; guid: string }
  | { kind: 'invalid'; reason: DeadReason; detail: string };

/**
 * Makes the message, and checks it with the same function that the dispatcher uses to read it: a message that passes here never becomes a
 * dead letter there.
 */
export function prepare(event: NewEvent, id: string, source: string): Prepared {
  const body = bytesOf(event);
  if (!body) return { kind: 'invalid', reason: 'not_json', detail: '`data` cannot be written as JSON' };
  // Checked before parsing, which takes several times its size.
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
  const headers = attributeHeaders({ id, source, type, subject, time, action, tagspushed });
  return event.traceparent === undefined ? headers : { ...headers, [traceHeader]: event.traceparent };
}

function bytesOf({ data, body }: NewEvent): Buffer | undefined {
  if (body === undefined) {
    try {
      const json = JSON.stringify(data) as string | undefined; // a function, for one, has no JSON
      return json === undefined ? undefined : Buffer.from(json);
    } catch {
      return undefined; // a circular structure, or a BigInt
    }
  }
  if (typeof body === 'string') return Buffer.from(body);
  return Buffer.isBuffer(body) ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
}
