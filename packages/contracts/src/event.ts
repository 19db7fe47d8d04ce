/** An event as producers publish it: a CloudEvent 1.0 over AMQP, in binary or structured mode (docs/reference/events.md). */
import { isUtf8 } from 'node:buffer';
import type { DeadReason } from './dead-reason.ts';
import { attributesInHeaders, type EventMessage, isStructured } from './event-headers.ts';
import { parseTime } from './event-time.ts';
import { membersOf, type Span } from './json-members.ts';

export type Event = {
  /** Unique per source. */
  id: string;
  source: string;
  type: string;
  /** The account's login, in lower case: account and repository names are case-insensitive. */
  account: string;
  /** Lower case; null for an organization-level event. */
  repository: string | null;
  /** When it occurred. */
  time: Date;
  action: string | null;
  /** How many tags a `push`, `create` or `delete` carries; null when the producer does not say. */
  tagsPushed: number | null;
  /** The JSON object, byte for byte as published. */
  payload: Buffer;
};

export type ParsedEvent = { kind: 'event'; event: Event } | { kind: 'dead'; reason: DeadReason; detail: string };

/** 25 MB, where MB are millions of bytes. */
export const payloadMaxBytes = 25_000_000;
// A structured message wraps its payload in an envelope, whose attributes may add this much.
const envelopeMaxBytes = 64 * 1024;

/**
 * Parses a message into an event, or says why it cannot be one. Never throws.
 * Binary mode: attributes in headers (event-headers.ts); the body is the payload, delivered byte for byte.
 * Structured mode (`application/cloudevents+json`): the payload is the text of `data`, byte for byte as it appears in the envelope, or the
 * bytes that `data_base64` encodes.
 */
export function parseEvent(message: EventMessage): ParsedEvent {
  const structured = isStructured(message);
  const maxBytes = structured ? payloadMaxBytes + envelopeMaxBytes : payloadMaxBytes;
  if (message.body.length > maxBytes)
    return dead('too_large', `${message.body.length} bytes; at most ${payloadMaxBytes} are taken`);
  if (!isUtf8(message.body)) return dead('not_utf8', 'the body is not UTF-8');
  const json = message.body.length > builtMaxBytes ? readLarge(message.body, structured) : readWhole(message.body);
  if (json === 'not_json') return dead('not_json', 'the body is not JSON');
  if (json === 'not_an_object') return dead('not_an_object', 'the body is not a JSON object');
  if (!structured) return fromAttributes(attributesInHeaders(message.headers), json.members, message.body);

  const { data, data_base64: encoded, ...attributes } = json.members;
  const isEncoded = encoded !== undefined && encoded !== null;
  if (isEncoded && (data === undefined || data === null)) return fromBase64(attributes, encoded);
  if (isEncoded || data === undefined)
    return dead('not_a_cloudevent', 'a structured CloudEvent needs its payload in one of `data` and `data_base64`');
  if (!isObject(data)) return dead('not_an_object', '`data` is not a JSON object');
  const payload = json.dataBytes();
  if (payload.length > payloadMaxBytes)
    return dead('too_large', `${payload.length} bytes; at most ${payloadMaxBytes} are taken`);
  return fromAttributes(attributes, data, payload);
}

/** The CloudEvents SDKs write any payload of bytes so, also one that is JSON (CloudEvents JSON format 1.0.2, section 3.1.1). */
function fromBase64(attributes: Record<string, unknown>, encoded: unknown): ParsedEvent {
  if (typeof encoded !== 'string' || !base64Form.test(encoded))
    return dead('not_a_cloudevent', '`data_base64` is not base64');
  const payload = Buffer.from(encoded, 'base64');
  if (!isUtf8(payload)) return dead('not_utf8', '`data_base64` is not UTF-8');
  const json = payload.length > builtMaxBytes ? readLarge(payload, false) : readWhole(payload);
  if (json === 'not_json') return dead('not_json', '`data_base64` is not JSON');
  if (json === 'not_an_object') return dead('not_an_object', '`data_base64` is not a JSON object');
  return fromAttributes(attributes, json.members, payload);
}

const base64Form = /^[A-Za-z0-9+/]*={0,2}$/;

/**
 * `dataBytes`: the original bytes of the member `data`, which is there: numbers beyond 2^53 and the order and spacing of keys would not
 * survive parse and stringify.
 */
type Read = { members: Record<string, unknown>; dataBytes(): Buffer };

function readWhole(body: Buffer): Read | 'not_json' | 'not_an_object' {
  const members = parseJson(body.toString('utf8'));
  if (members === undefined) return 'not_json';
  if (!isObject(members)) return 'not_an_object';
  return {
    members,
    dataBytes() {
      const found = membersOf(body, namesOfData) as Map<string, Span>; // of an object, as above
      const { start, end } = found.get('data')!;
      return body.subarray(start, end);
    },
  };
}
const namesOfData = new Set(['data']);

/** JSON of up to a megabyte is parsed as a whole, which is faster; in memory it may be forty times as large. */
const builtMaxBytes = 1024 * 1024;
const namesInEnvelope = new Set(
  'specversion id source type subject time action tagspushed data data_base64'.split(' '),
);
const namesInPayload = new Set(['action']);

/** The same for a large body, of which only the needed members are parsed. */
function readLarge(body: Buffer, structured: boolean): Read | 'not_json' | 'not_an_object' {
  const found = membersOf(body, structured ? namesInEnvelope : namesInPayload);
  if (typeof found === 'string') return found;
  const { data, ...spans } = Object.fromEntries(found) as Record<string, Span | undefined>;
  const members: Record<string, unknown> = valuesIn(body, spans);
  const bytes = data && body.subarray(data.start, data.end);
  if (bytes) {
    const inData = membersOf(bytes, namesInPayload);
    members.data = typeof inData === 'string' ? null : valuesIn(bytes, Object.fromEntries(inData));
  }
  return { members, dataBytes: () => bytes! };
}

/** Small values as they are; for a large one only its type, which no attribute may have. */
function valuesIn(body: Buffer, spans: Record<string, Span | undefined>): Record<string, unknown> {
  const read = ({ start, end }: Span): unknown => {
    const isText = body[start] === 0x22;
    return isText || end - start <= envelopeMaxBytes ? JSON.parse(body.toString('utf8', start, end)) : {};
  };
  return Object.fromEntries(Object.entries(spans).map(([name, span]) => [name, span && read(span)]));
}

/** The form of an event's `subject`: `owner`, or `owner/repo`. */
export const subjectForm = /^([A-Za-z0-9._-]{1,100})(?:\/([A-Za-z0-9._-]{1,100}))?$/;

/** The form of an event's `type`, which is sent as a header. */
export const eventTypeForm = /^[a-z0-9_]{1,64}$/;

/** An attribute that is null counts as missing, as in the CloudEvents JSON format (2.1). */
function fromAttributes(
  attributes: Record<string, unknown>,
  payload: Record<string, unknown>,
  bytes: Buffer,
): ParsedEvent {
  for (const name of ['specversion', 'id', 'source', 'type', 'subject', 'time']) {
    if ((attributes[name] ?? '') === '') return dead('missing_attribute', `the attribute \`${name}\` is missing`);
  }
  const { specversion, id, source, type, subject, time } = attributes;
  const [action, tagspushed] = [attributes.action ?? undefined, attributes.tagspushed ?? ''];
  if (specversion !== '1.0') return bad('specversion', 'must be 1.0');
  if (typeof id !== 'string' || id.length > 512 || !isPlainText(id))
    return bad('id', 'must be text of at most 512 characters, none of them a control character');
  if (typeof source !== 'string' || source.length > 2048 || /\s/.test(source) || !isPlainText(source))
    return bad('source', 'must be a URI of at most 2048 characters');
  if (typeof type !== 'string' || !eventTypeForm.test(type)) return bad('type', 'must match [a-z0-9_]{1,64}');
  const place = typeof subject === 'string' ? subjectForm.exec(subject) : null;
  if (!place) return bad('subject', 'must be `owner/repo` or `owner`');
  const occurred = parseTime(time);
  if (!occurred)
    return bad(
      'time',
      'must be an RFC 3339 date and time, an AMQP timestamp or whole milliseconds, in the years 1 to 9999',
    );
  if (action !== undefined && (typeof action !== 'string' || action.length > 64 || !isPlainText(action)))
    return bad('action', 'must be text of at most 64 characters');
  const tags = tagspushed === '' ? null : numberOf(tagspushed);
  if (tags !== null && (!Number.isInteger(tags) || tags < 0)) return bad('tagspushed', 'must be a whole number');
  return {
    kind: 'event',
    event: {
      id,
      source,
      type,
      account: place[1]!.toLowerCase(),
      repository: place[2]?.toLowerCase() ?? null,
      time: occurred,
      action: action ?? ownAction(payload),
      tagsPushed: tags,
      payload: bytes,
    },
  };
}

/** A number, or the digits of one. */
function numberOf(value: unknown): number {
  if (typeof value === 'string' && /^\d+$/.test(value)) return Number(value);
  return typeof value === 'number' ? value : Number.NaN;
}

/** The payload's own `action`, up to the length we keep; null if no database could hold it: the payload is delivered all the same. */
export function ownAction({ action }: Record<string, unknown>): string | null {
  if (typeof action !== 'string') return null;
  const kept = action.slice(0, 64).replace(/[\ud800-\udbff]$/, '');
  return isPlainText(kept) ? kept : null;
}

/** CloudEvents forbids control characters and lone surrogates in attributes; PostgreSQL's text refuses some of them. */
function isPlainText(value: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  return value.isWellFormed() && !/[\u0000-\u001f\u007f-\u009f]/.test(value);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // the caller says what is wrong; JSON itself has no undefined
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function dead(reason: DeadReason, detail: string): ParsedEvent {
  return { kind: 'dead', reason, detail };
}

function bad(attribute: string, problem: string): ParsedEvent {
  return dead('bad_attribute', `the attribute \`${attribute}\` ${problem}`);
}
