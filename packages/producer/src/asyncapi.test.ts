import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { DeadReason } from '@gatepost/contracts/dead-reason';
import { parseEvent } from '@gatepost/contracts/event';
import {
  deadDetailHeader,
  deadEventsQueue,
  deadReasonHeader,
  eventsExchange,
  topology,
} from '@gatepost/contracts/topology';
import { describe, expect, test } from '@jest/globals';
import { Ajv, type AnySchema } from 'ajv';
import addFormats from 'ajv-formats';
import { parse } from 'yaml';

type Example = { name: string; headers?: Record<string, unknown>; payload: unknown };
type Message = { contentType?: string; headers?: AnySchema; payload: AnySchema; examples: Example[] };
type Channel = { bindings: { amqp: { exchange?: Record<string, unknown>; queue?: Record<string, unknown> } } };
type AsyncApi = {
  channels: Record<'events' | 'dead', Channel>;
  components: { messages: Record<'binary' | 'structured' | 'dead', Message> };
};

// The file is ours; the schema test below holds its form against the standard. `@asyncapi/parser` would bring Spectral and sixteen direct
// dependencies to find the same faults of form; whether the examples are events, only `parseEvent` can tell.
const document = parse(readFileSync(new URL('../../../docs/asyncapi.yaml', import.meta.url), 'utf8')) as AsyncApi;
const { messages } = document.components;
const standard = createRequire(import.meta.url)('@asyncapi/specs/schemas/3.0.0.json') as AnySchema;

describe('docs/asyncapi.yaml', () => {
  test('is an AsyncAPI 3 document', () => {
    // The standard's schema brings the JSON schema of JSON schemas with it.
    const ajv = new Ajv({ strict: false, meta: false, validateSchema: false });
    addFormats.default(ajv);
    const validate = ajv.compile(standard);
    validate(document);
    expect(validate.errors ?? []).toEqual([]);
  });

  test('names the exchange and the queue that the dispatcher declares', () => {
    const exchange = topology.exchanges.find(({ name }) => name === eventsExchange);
    expect(document.channels.events.bindings.amqp.exchange).toMatchObject({ ...exchange });
    expect(document.channels.dead.bindings.amqp.queue).toMatchObject({ name: deadEventsQueue, durable: true });
  });

  test.each(
    (['binary', 'structured'] as const).flatMap((mode) =>
      messages[mode].examples.map((example) => ({ mode, example })),
    ),
  )('its example `$example.name` ($mode) is taken as an event', ({ mode, example }) => {
    const message = messages[mode];
    const parsed = parseEvent({
      contentType: message.contentType,
      headers: example.headers ?? {},
      body: Buffer.from(JSON.stringify(example.payload)),
    });
    expect(parsed).toMatchObject({ kind: 'event' });
    expectValid(message.payload, example.payload);
    if (message.headers) expectValid(message.headers, example.headers);
  });

  test('has an example of a dead letter that is refused for the reason it states', () => {
    for (const { headers = {}, payload } of messages.dead.examples) {
      const parsed = parseEvent({
        contentType: 'application/json',
        headers,
        body: Buffer.from(JSON.stringify(payload)),
      });
      expect(parsed).toEqual({ kind: 'dead', reason: headers[deadReasonHeader], detail: headers[deadDetailHeader] });
      expectValid(messages.dead.headers!, headers);
    }
  });

  test('lists every reason of a dead letter', () => {
    // A reason that is added to the type is an error here, and one that is missing in the document below.
    const reasons: Record<DeadReason, true> = {
      too_large: true,
      not_json: true,
      not_utf8: true,
      not_an_object: true,
      not_a_cloudevent: true,
      missing_attribute: true,
      bad_attribute: true,
      not_storable: true,
      not_a_job: true,
      job_not_authentic: true,
      not_handled: true,
      producer_unknown: true,
      producer_not_allowed: true,
    };
    const schema = messages.dead.headers as { properties: Record<string, { enum: string[] }> };
    expect(schema.properties[deadReasonHeader]!.enum.toSorted()).toEqual(Object.keys(reasons).toSorted());
  });

  test.each<[attribute: string, value: unknown]>([
    ['cloudEvents:type', 'Push'],
    ['cloudEvents:subject', 'a/b/c'],
    ['cloudEvents:time', 'yesterday'],
    ['cloudEvents:time', 253_402_300_800_000],
    ['cloudEvents:specversion', '0.3'],
    ['cloudEvents:id', 'x'.repeat(513)],
    ['cloudEvents:tagspushed', -1],
    ['cloudEvents:action', 'x'.repeat(65)],
  ])('has a schema that refuses a %s of %p, as the parser does', (attribute, value) => {
    const [example] = messages.binary.examples;
    const headers = { ...example!.headers, [attribute]: value };
    const body = Buffer.from(JSON.stringify(example!.payload));
    expect(parseEvent({ contentType: 'application/json', headers, body })).toMatchObject({ reason: 'bad_attribute' });
    expect(() => expectValid(messages.binary.headers!, headers)).toThrow();
  });
});

function expectValid(schema: AnySchema, value: unknown): void {
  const ajv = new Ajv({ strict: false, allErrors: true });
  addFormats.default(ajv);
  const validate = ajv.compile(resolved(schema) as AnySchema);
  validate(value);
  expect(validate.errors ?? []).toEqual([]);
}

/** The schema with every reference replaced by what it names in the document; there are no circles. */
function resolved(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(resolved);
  if (typeof value !== 'object' || value === null) return value;
  if ('$ref' in value && typeof value.$ref === 'string') {
    const path = value.$ref.replace('#/', '').split('/');
    return resolved(path.reduce<unknown>((node, name) => (node as Record<string, unknown>)[name], document));
  }
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, resolved(inner)]));
}
