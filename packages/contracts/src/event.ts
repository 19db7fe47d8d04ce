/** An event as producers publish it: a CloudEvent 1.0 over AMQP, in binary or structured mode (docs/reference/events.md). */
import { isUtf8 } from 'node:buffer';
import { parse, v5 as uuidv5 } from 'uuid';
import type { DeadReason } from './dead-reason.ts';
import { membersOf, type Span } from './json-members.ts';
import { partitionKeyOf } from './shards.ts';
import { traceHeader } from './topology.ts';

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

/** The parts of an AMQP message that the parser reads. */
export type EventMessage = { contentType: string | undefined; headers: Record<string, unknown>; body: Buffer };

/** 25 MB, where MB are millions of bytes. */
export const payloadMaxBytes = 25_000_000;
const structuredContentType = 'application/cloudevents+json';
// A structured message wraps its payload in an envelope, whose attributes may add this much.
const envelopeMaxBytes = 64 * 1024;

/**
 * Parses a message into an event, or says why it cannot be one. Never throws.
 * Binary mode: attributes in headers (see attributePrefixes); the body is the payload, delivered byte for byte.
 * Structured mode (`application/cloudevents+json`): the payload is the text of `data`, byte for byte as it appears in the envelope, or the
 * bytes that `data_base64` encodes.
 */
export function parseEvent(message: EventMessage): ParsedEvent {
  const structured = mediaType(message.contentType) === structuredContentType;
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

/** The guid that all deliveries of an event share: its id if that is a UUID, else UUIDv5 of `source#id` in the URL namespace. */
export function eventGuid(event: Pick<Event, 'id' | 'source'>): string {
  return uuidForm.test(event.id) ? event.id.toLowerCase() : sourceAndId(event);
}

// Any version: producers number their events as they like.
const uuidForm = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/**
 * The identity of an event: its source, id and subject, as a UUID. Without the subject, the first publisher of a source and id could keep
 * everybody else's event from being delivered.
 */
export function eventKey({
  id,
  source,
  account,
  repository,
}: Pick<Event, 'id' | 'source' | 'account' | 'repository'>): string {
  // Neither a source nor a subject contains a space, so the texts of two events never coincide.
  return uuidOf(`${source} ${subjectOf({ account, repository })} ${id}`);
}

/** The key of versions that identified events by source and id alone; rows of the last day may have it. */
export function eventKeyBefore(event: Pick<Event, 'id' | 'source'>): string {
  return sourceAndId(event);
}

/** Where an event occurred, as stated by its producer, in lower case. */
export function subjectOf({ account, repository }: Pick<Event, 'account' | 'repository'>): string {
  return repository === null ? account : `${account}/${repository}`;
}

/** The form of an event's `subject`: `owner`, or `owner/repo`. */
export const subjectForm = /^([A-Za-z0-9._-]{1,100})(?:\/([A-Za-z0-9._-]{1,100}))?$/;

/** The form of an event's `type`, which is sent as a header. */
export const eventTypeForm = /^[a-z0-9_]{1,64}$/;

function sourceAndId({ id, source }: Pick<Event, 'id' | 'source'>): string {
  return uuidOf(`${source}#${id}`);
}

const urls = parse(uuidv5.URL);
/** A UUIDv5 in the URL namespace. Given text, the library would convert it to bytes itself, at twice the cost. */
const uuidOf = (name: string): string => uuidv5(Buffer.from(name), urls);

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

/**
 * Prefixes of attribute names in headers: `cloudEvents:` of the CloudEvents AMQP binding, `cloudEvents_` of clients that cannot write a colon
 * (JMS), `ce-` of Knative's RabbitMQ binding, and `ce_` of clients that cannot write a hyphen either. If several are present, the first in
 * this list wins.
 */
const attributePrefixes = ['cloudevents:', 'cloudevents_', 'ce-', 'ce_'];

/**
 * The subject of an event in binary mode, as the parser would read it, without reading anything else. Undefined in structured mode, where it is
 * in the body and the headers say nothing.
 */
export function subjectInHeaders({ contentType, headers }: Pick<EventMessage, 'contentType' | 'headers'>): unknown {
  if (mediaType(contentType) === structuredContentType) return undefined;
  const names = Object.keys(headers);
  for (const prefix of attributePrefixes) {
    const name = names.find((candidate) => candidate.toLowerCase() === `${prefix}subject`);
    if (name !== undefined && headers[name] !== null) return headers[name];
  }
  return undefined;
}

/** An event's attributes as written by its producer. */
export type EventAttributes = {
  id: string;
  source: string;
  type: string;
  subject: string;
  time: string;
  action?: string | undefined;
  tagspushed?: number | undefined;
};

/** The headers of a message in binary mode, spelled as in the CloudEvents AMQP binding. */
export function attributeHeaders(attributes: EventAttributes): Record<string, unknown> {
  const partitionkey = partitionKeyOf(attributes.subject);
  const given = Object.entries({ specversion: '1.0', ...attributes, partitionkey }).filter(
    ([, value]) => value !== undefined,
  );
  return Object.fromEntries(given.map(([name, value]) => [`cloudEvents:${name}`, value]));
}

/** The attributes of an event in binary mode, by lower-case name, unchecked; in structured mode there are none here. */
export function attributesInHeaders(headers: Record<string, unknown>): Record<string, unknown> {
  const attributes: Record<string, unknown> = {};
  const lowered = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  for (const prefix of attributePrefixes) {
    for (const [name, value] of lowered) {
      if (!name.startsWith(prefix)) continue;
      attributes[name.slice(prefix.length)] ??= value instanceof Date ? value.toISOString() : value;
    }
  }
  return attributes;
}

/** A larger envelope is not parsed just for its trace. */
const tracedMaxBytes = 1024 * 1024;

/**
 * The trace that a message claims to belong to, unchecked: from the AMQP header, else from the attribute of the CloudEvents tracing extension
 * (https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/extensions/distributed-tracing.md), in either mode.
 */
export function traceparentOf({ contentType, headers, body }: EventMessage): unknown {
  const inHeaders = headers[traceHeader] ?? attributesInHeaders(headers)[traceHeader];
  if (inHeaders !== undefined && inHeaders !== null) return inHeaders;
  if (mediaType(contentType) !== structuredContentType || body.length > tracedMaxBytes) return undefined;
  const envelope = parseJson(body.toString('utf8'));
  return isObject(envelope) ? envelope[traceHeader] : undefined;
}

// As seconds, anything above this is later than the year 5138; as milliseconds, every time since 1973 is above it.
const secondsMax = 1e11;
// Outside of these years JavaScript writes a time in a form that PostgreSQL does not read.
const [timeMin, timeMax] = [Date.parse('0001-01-01T00:00:00Z'), Date.parse('9999-12-31T23:59:59.999Z')];

/**
 * RFC 3339, or an instant as AMQP 1.0 counts it: whole milliseconds since 1970. AMQP 0-9-1 also has a timestamp type, which counts seconds;
 * brokers that translate from AMQP 1.0 put milliseconds there.
 */
function parseTime(value: unknown): Date | undefined {
  const rfc3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;
  // amqplib's form of AMQP timestamps.
  const timestamp = isObject(value) && value['!'] === 'timestamp' ? value.value : undefined;
  let date: Date;
  if (typeof timestamp === 'number') date = new Date(timestamp < secondsMax ? timestamp * 1000 : timestamp);
  else if (typeof value === 'number' && Number.isSafeInteger(value)) date = new Date(value);
  else if (typeof value === 'string' && rfc3339.test(value) && isDay(value.slice(0, 10))) date = new Date(value);
  else return undefined;
  return date.getTime() >= timeMin && date.getTime() <= timeMax ? date : undefined;
}

/** JavaScript takes 30 February for 2 March. */
const isDay = (text: string): boolean => new Date(text).getUTCDate() === Number(text.slice(8));

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // the caller says what is wrong; JSON itself has no undefined
  }
}

function mediaType(contentType: string | undefined): string {
  return (contentType ?? '').split(';')[0]!.trim().toLowerCase();
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
