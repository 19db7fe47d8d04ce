import { type ParsedEvent, parseEvent } from '@gatepost/contracts/event';
import { attributeHeaders, type EventMessage } from '@gatepost/contracts/event-headers';
import { troubleOf } from '@gatepost/runtime/store-errors';
import { afterAll, expect, test } from '@jest/globals';
import { openLargeEvents } from './large-events.ts';

// Nothing is asked of the database here.
const large = openLargeEvents({ databaseUrl: 'postgres://127.0.0.1:1/none', isPooled: false });
afterAll(async () => large[Symbol.asyncDispose]());

const attributes = { id: '1', source: 'urn:test', type: 'push', subject: 'acme/widgets', time: '2026-01-02T03:04:05Z' };
const data = JSON.stringify({ padding: 'ä'.repeat(1_000_000), action: 'opened' });
const headers = attributeHeaders(attributes);
const envelope = (text: string) =>
  `${JSON.stringify({ specversion: '1.0', ...attributes }).slice(0, -1)},"data":${text}}`;
const messages: [form: string, message: EventMessage][] = [
  ['binary', { contentType: 'application/json', headers, body: Buffer.from(data) }],
  ['structured', { contentType: 'application/cloudevents+json', headers: {}, body: Buffer.from(envelope(data)) }],
  ['no JSON', { contentType: 'application/json', headers, body: Buffer.from(data.slice(1)) }],
];

const payloadOf = (parsed: ParsedEvent) => (parsed.kind === 'event' ? parsed.event.payload : undefined);
const withoutPayload = (parsed: ParsedEvent) =>
  parsed.kind === 'event' ? { ...parsed.event, payload: parsed.event.payload.length } : parsed;

test.each(messages)('a large message is read like any other: %s', async (_form, message) => {
  const expected = parseEvent(message);
  const parsed = await large.parse(message);
  expect(withoutPayload(parsed)).toEqual(withoutPayload(expected));
  expect(payloadOf(parsed)?.equals(payloadOf(expected)!)).toBe(expected.kind === 'event' ? true : undefined);
});

// An event that ends the thread is tried again a few times, and then is a dead letter.
test('when the reading thread ends, only the event that it was reading is blamed', async () => {
  await using ending = openLargeEvents(undefined as never); // it throws at once
  const [, message] = messages[0]!;
  const asked = [ending.load('1', '2026-01-02'), ending.parse(message), ending.parse(message)];
  const troubles = (await Promise.allSettled(asked)).map((one) => one.status === 'rejected' && troubleOf(one.reason));
  expect(troubles).toEqual(['away', 'other', 'away']);
});
