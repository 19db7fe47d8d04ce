/** The headers of an event's AMQP message: in binary mode they hold its attributes (docs/reference/events.md). */
import { membersOf } from './json-members.ts';
import { partitionKeyOf } from './shards.ts';
import { traceHeader } from './topology.ts';

/** The parts of an AMQP message that the parser reads. */
export type EventMessage = { contentType: string | undefined; headers: Record<string, unknown>; body: Buffer };

const structuredContentType = 'application/cloudevents+json';

/** Whether the attributes are around the payload in the body instead. */
export function isStructured({ contentType }: Pick<EventMessage, 'contentType'>): boolean {
  return (contentType ?? '').split(';')[0]!.trim().toLowerCase() === structuredContentType;
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
  if (isStructured({ contentType })) return undefined;
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

/** A larger envelope is not read just for its trace. */
const tracedMaxBytes = 1024 * 1024;

/**
 * The trace that a message claims to belong to, unchecked: from the AMQP header, else from the attribute of the CloudEvents tracing extension
 * (https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/extensions/distributed-tracing.md), in either mode.
 */
export function traceparentOf({ contentType, headers, body }: EventMessage): unknown {
  const inHeaders = headers[traceHeader] ?? attributesInHeaders(headers)[traceHeader];
  if (inHeaders !== undefined && inHeaders !== null) return inHeaders;
  if (!isStructured({ contentType }) || body.length > tracedMaxBytes) return undefined;
  const found = membersOf(body, namesOfTrace);
  const span = typeof found === 'string' ? undefined : found.get(traceHeader);
  return span && JSON.parse(body.toString('utf8', span.start, span.end));
}
const namesOfTrace = new Set([traceHeader]);
