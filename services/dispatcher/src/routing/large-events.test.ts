import { type ParsedEvent, parseEvent } from '@gatepost/contracts/event';
import { attributeHeaders, type EventMessage } from '@gatepost/contracts/event-headers';
import { troubleOf } from '@gatepost/runtime/store-errors';
import { afterAll, expect, jest, test } from '@jest/globals';
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

// The thread waited for it for ever, and at the end an unhandled rejection ended the process.
test('an event whose headers are nested too deep for the reading thread is refused at once, and the thread ends as usual', async () => {
  const opened = openLargeEvents({ databaseUrl: 'postgres://127.0.0.1:1/none', isPooled: false });
  const unhandled = jest.fn();
  process.on('unhandledRejection', unhandled);
  const later = jest.spyOn(globalThis, 'setTimeout');
  let deep: unknown[] = [];
  for (let depth = 0; depth < 100_000; depth += 1) deep = [deep];
  const [, message] = messages[0]!;
  await expect(opened.parse({ ...message, headers: { ...headers, deep } })).rejects.toThrow('call stack');
  expect(later).toHaveBeenLastCalledWith(expect.any(Function), 5_000); // then the thread ends, unless there is more to do
  later.mockRestore();
  expect((await opened.parse(message)).kind).toBe('event');
  await opened[Symbol.asyncDispose]();
  await new Promise((resolve) => setImmediate(resolve));
  expect(unhandled).not.toHaveBeenCalled();
  process.off('unhandledRejection', unhandled);
});

// An event that ends the thread is tried again a few times, and then is a dead letter.
test('when the reading thread ends, only the event that it was reading is blamed', async () => {
  await using ending = openLargeEvents(undefined as never); // it throws at once
  const [, message] = messages[0]!;
  const asked = [ending.load('1', '2026-01-02'), ending.parse(message), ending.parse(message)];
  const troubles = (await Promise.allSettled(asked)).map((one) => one.status === 'rejected' && troubleOf(one.reason));
  expect(troubles).toEqual(['away', 'other', 'away']);
});
