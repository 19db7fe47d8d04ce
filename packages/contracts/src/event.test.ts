import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { describe, expect, test } from '@jest/globals';
import { parseEvent, payloadMaxBytes } from './event.ts';
import type { EventMessage } from './event-headers.ts';
import { eventGuid, eventKey } from './event-identity.ts';

const attributes = {
  'cloudEvents:specversion': '1.0',
  'cloudEvents:id': 'a1',
  'cloudEvents:source': 'https://git.example/hooks',
  'cloudEvents:type': 'push',
  'cloudEvents:subject': 'Acme/Widgets',
  'cloudEvents:time': '2026-11-21T09:00:00.123Z',
};

const binary = (change: Record<string, unknown> = {}, body: string | Buffer = '{"ref":"x"}'): EventMessage => ({
  contentType: 'application/json',
  headers: { ...attributes, ...change },
  body: Buffer.from(body as string),
});

const structured = (body: string): EventMessage => ({
  contentType: 'application/cloudevents+json; charset=utf-8',
  headers: {},
  body: Buffer.from(body),
});

const envelope =
  '"specversion":"1.0","id":"a1","source":"s","type":"issues","subject":"acme","time":"2026-11-21T09:00:00+01:00"';

// Serializers write optional attributes that are not set as null.
test.each([
  ['in binary mode', (name: string) => binary({ [`cloudEvents:${name}`]: null })],
  ['in structured mode', (name: string) => structured(`{${envelope},"${name}":null,"data":{"action":"opened"}}`)],
  [
    'in a large envelope',
    (name: string) => structured(`{${envelope},"${name}":null,"data":{"pad":"${'x'.repeat(1_100_000)}"}}`),
  ],
])('an attribute that is null counts as missing %s', (_mode, of) => {
  for (const name of ['action', 'tagspushed'])
    expect(parseEvent(of(name))).toMatchObject({ kind: 'event', event: { tagsPushed: null } });
  expect(parseEvent(of('subject'))).toMatchObject({ kind: 'dead', reason: 'missing_attribute' });
});

describe('an event in binary mode', () => {
  test('is read with its subject in lower case and its payload untouched', () => {
    const body = '{ "ref":"refs/heads/main", "n": 12345678901234567890, "é": "ü" }';
    const parsed = parseEvent(binary({}, body));
    expect(parsed).toMatchObject({
      kind: 'event',
      event: { id: 'a1', type: 'push', account: 'acme', repository: 'widgets', action: null, tagsPushed: null },
    });
    if (parsed.kind !== 'event') throw new Error(parsed.detail);
    expect(parsed.event.payload.toString()).toBe(body);
    expect(parsed.event.time.toISOString()).toBe('2026-11-21T09:00:00.123Z');
  });

  test.each(['cloudEvents_', 'ce-', 'ce_', 'CE-', 'CloudEvents:'])('may spell its attributes as %s…', (prefix) => {
    const headers = Object.fromEntries(
      Object.entries(attributes).map(([name, value]) => [name.replace('cloudEvents:', prefix), value]),
    );
    expect(parseEvent({ contentType: 'application/json', headers, body: Buffer.from('{}') })).toMatchObject({
      kind: 'event',
      event: { id: 'a1', repository: 'widgets' },
    });
  });

  test('prefers the spelling of the AMQP binding if there are several', () => {
    expect(parseEvent(binary({ 'ce-id': 'other', ce_id: 'other', cloudEvents_id: 'other' }))).toMatchObject({
      event: { id: 'a1' },
    });
  });

  // The Python SDK writes milliseconds in its AMQP binding; pika makes a timestamp of a datetime.
  test.each([
    ['milliseconds', Date.UTC(2026, 10, 21, 9, 0, 0, 123), '2026-11-21T09:00:00.123Z'],
    [
      'an AMQP 0-9-1 timestamp',
      { '!': 'timestamp', value: Date.UTC(2026, 10, 21, 9) / 1000 },
      '2026-11-21T09:00:00.000Z',
    ],
    ['an AMQP 1.0 timestamp', { '!': 'timestamp', value: Date.UTC(2026, 10, 21, 9) }, '2026-11-21T09:00:00.000Z'],
    ['the first moment', '0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['the last moment', '9999-12-31T22:59:59.999-01:00', '9999-12-31T23:59:59.999Z'],
    ['a leap second', '2016-12-31T23:59:60.5Z', '2016-12-31T23:59:59.500Z'],
    ['a leap day', '2028-02-29t09:00:00z', '2028-02-29T09:00:00.000Z'],
  ])('may give its time as %s', (_, time, expected) => {
    const parsed = parseEvent(binary({ 'cloudEvents:time': time }));
    expect(parsed.kind === 'event' && parsed.event.time.toISOString()).toBe(expected);
  });

  test.each([
    [3, 3],
    ['3', 3],
    [0, 0],
    ['', null],
    [null, null],
  ])('may give its number of tags as %j', (tagspushed, tagsPushed) => {
    const parsed = parseEvent(binary({ 'cloudEvents:tagspushed': tagspushed }));
    expect(parsed).toMatchObject({ kind: 'event', event: { tagsPushed } });
  });

  test('has its action from the attribute, else from the payload', () => {
    const withBoth = parseEvent(binary({ 'cloudEvents:action': 'closed' }, '{"action":"opened"}'));
    const withPayload = parseEvent(binary({}, '{"action":"opened"}'));
    expect([withBoth, withPayload]).toMatchObject([{ event: { action: 'closed' } }, { event: { action: 'opened' } }]);
  });

  // What used to happen: PostgreSQL refused such text, and an event without fault became a dead letter.
  test.each([
    ['NUL', '"a\\u0000b"', null],
    ['half a character', '"a\\ud800b"', null],
    ['a control character', '"\\u0007"', null],
    ['no text', '7', null],
    ['a long one, cut between characters', `"${'x'.repeat(63)}😀"`, 'x'.repeat(63)],
  ])('has no action if that of the payload is %s, and is accepted', (_what, own, action) => {
    expect(parseEvent(binary({}, `{"action":${own}}`))).toMatchObject({ kind: 'event', event: { action } });
  });

  test('has the number of pushed tags, given as a number or as text', () => {
    expect(parseEvent(binary({ 'cloudEvents:tagspushed': 4 }))).toMatchObject({ event: { tagsPushed: 4 } });
    expect(parseEvent(binary({ 'cloudEvents:tagspushed': '2' }))).toMatchObject({ event: { tagsPushed: 2 } });
  });

  test('of an organization has no repository', () => {
    expect(parseEvent(binary({ 'cloudEvents:subject': 'acme' }))).toMatchObject({
      event: { account: 'acme', repository: null },
    });
  });

  test.each(['specversion', 'id', 'source', 'type', 'subject', 'time'])(
    'without `%s` is a dead letter, and the detail names it',
    (name) => {
      const parsed = parseEvent(binary({ [`cloudEvents:${name}`]: undefined }));
      expect(parsed).toMatchObject({
        kind: 'dead',
        reason: 'missing_attribute',
        detail: expect.stringContaining(`\`${name}\``),
      });
    },
  );

  test.each([
    ['specversion', '0.3'],
    ['id', 'x'.repeat(513)],
    ['source', 'two words'],
    ['type', 'Push!'],
    ['subject', 'a/b/c'],
    ['time', 'yesterday'],
    ['time', '2026-13-41T00:00:00Z'],
    ['time', 1.5],
    ['time', 1e18],
    ['time', { '!': 'timestamp', value: 1e18 }],
    ['time', '2026-02-30T00:00:00Z'],
    ['time', '0000-12-31T23:59:59Z'],
    ['time', '9999-12-31T23:59:59-01:00'],
    ['time', Date.UTC(2026, 10, 21, 9) * 1_000],
    ['action', 7],
    ['tagspushed', 'many'],
    ['tagspushed', ' '],
    ['tagspushed', []],
    ['tagspushed', true],
    ['tagspushed', -1],
  ])('with %s %j is a dead letter for a bad attribute', (name, value) => {
    const parsed = parseEvent(binary({ [`cloudEvents:${name}`]: value }));
    expect(parsed).toMatchObject({
      kind: 'dead',
      reason: 'bad_attribute',
      detail: expect.stringContaining(`\`${name}\``),
    });
  });

  test.each([
    ['not JSON', '{"a":', 'not_json'],
    ['an array', '[]', 'not_an_object'],
    ['null', 'null', 'not_an_object'],
    ['empty', '', 'not_json'],
    ['not UTF-8', Buffer.from([0x7b, 0xff, 0x7d]), 'not_utf8'],
    ['too large', Buffer.alloc(payloadMaxBytes + 1, 0x20), 'too_large'],
  ])('with a body that is %s is a dead letter', (_, body, reason) => {
    expect(parseEvent(binary({}, body))).toMatchObject({ kind: 'dead', reason });
  });
});

describe('an event in structured mode', () => {
  test('has the text of `data` as its payload, byte for byte', () => {
    const data = '{ "n": 12345678901234567890, "s": "}\\"{", "data": {"inner": [1, {"x": "]"}]} }';
    const parsed = parseEvent(structured(`{${envelope}, "data" : ${data} , "action": "opened"}`));
    if (parsed.kind !== 'event') throw new Error(parsed.detail);
    expect(parsed.event.payload.toString()).toBe(data);
    expect(parsed.event).toMatchObject({ account: 'acme', repository: null, type: 'issues', action: 'opened' });
  });

  test('has the last of several `data` members as its payload, as in JSON', () => {
    const parsed = parseEvent(structured(`{"data":{"a":1},${envelope},"d\\u0061ta":{"b":2}}`));
    if (parsed.kind !== 'event') throw new Error(parsed.detail);
    expect(parsed.event.payload.toString()).toBe('{"b":2}');
  });

  test('without `data`, or with text there, is a dead letter', () => {
    expect(parseEvent(structured(`{${envelope}}`))).toMatchObject({ reason: 'not_a_cloudevent' });
    expect(parseEvent(structured(`{${envelope},"data":"text"}`))).toMatchObject({ reason: 'not_an_object' });
  });

  test.each([
    ['small', '{"action":"opened","n":1.0}'],
    ['large', `{"pad":"${'x'.repeat(1_100_000)}","action":"opened"}`],
  ])('may have a %s payload of bytes in base64, as CloudEvents’ SDKs write it', (_size, payload) => {
    const body = `{${envelope},"data_base64":"${Buffer.from(payload).toString('base64')}"}`;
    const parsed = parseEvent(structured(body));
    expect(parsed).toMatchObject({ kind: 'event', event: { action: 'opened' } });
    expect(parsed.kind === 'event' && parsed.event.payload.toString()).toBe(payload);
  });

  test.each([
    ['"data_base64":"e30=","data":{}', 'not_a_cloudevent'],
    ['"data_base64":{}', 'not_a_cloudevent'],
    ['"data_base64":"e3 0="', 'not_a_cloudevent'],
    ['"data_base64":""', 'not_json'],
    ['"data_base64":"W10="', 'not_an_object'],
    ['"data_base64":"/////w=="', 'not_utf8'],
    ['"data_base64":null', 'not_a_cloudevent'],
  ])('with %s is a dead letter: %s', (members, reason) => {
    expect(parseEvent(structured(`{${envelope},${members}}`))).toMatchObject({ kind: 'dead', reason });
  });
});

describe('the guid of an event', () => {
  test('is its id if that is a UUID, else the UUIDv5 of source and id', () => {
    const uuid = '6F9619FF-8B86-D011-B42D-00C04FC964FF';
    expect(eventGuid({ id: uuid, source: 's' })).toBe(uuid.toLowerCase());
    // uuidv5('s#a1', URL namespace), computed with Python's uuid module.
    expect(eventGuid({ id: 'a1', source: 's' })).toBe('7837a156-11ab-5a47-988f-d14d136a56ce');
  });

  test('is the same for two subjects, and for two sources that use one UUID; the keys differ', () => {
    const events = [
      { id: '6f9619ff-8b86-d011-b42d-00c04fc964ff', source: 'a', account: 'acme', repository: null },
      { id: '6f9619ff-8b86-d011-b42d-00c04fc964ff', source: 'b', account: 'acme', repository: null },
      { id: '6f9619ff-8b86-d011-b42d-00c04fc964ff', source: 'a', account: 'acme', repository: 'widgets' },
      { id: '6f9619ff-8b86-d011-b42d-00c04fc964ff', source: 'a', account: 'other', repository: null },
    ];
    expect(new Set(events.map(eventGuid)).size).toBe(1);
    expect(new Set(events.map(eventKey)).size).toBe(4);
  });

  test('never has the key of another source, subject and id that only concatenate alike', () => {
    const keys = [
      eventKey({ source: 'a', account: 'b', repository: null, id: 'c d' }),
      eventKey({ source: 'a', account: 'b', repository: 'c', id: 'd' }),
      eventKey({ source: 'a#b', account: 'c', repository: null, id: 'd' }),
      eventKey({ source: 'a', account: 'c', repository: null, id: 'b#d' }),
    ];
    expect(new Set(keys).size).toBe(4);
  });
});

describe('an event of more than a megabyte', () => {
  const padding = `"padding":"${'ä'.repeat(600_000)}"`;
  test.each([
    ['in binary mode', binary({}, `{"action":"opened",${padding}}`)],
    ['with another action', binary({}, `{${padding},"action":["opened"]}`)],
    ['in structured mode', structured(`{${envelope},"data": {"action":"a",${padding}, "n":12345678901234567890} }`)],
    ['with its data first', structured(`{"data":{"x":1},"data":{${padding}},${envelope},"action":"closed"}`)],
  ])('is read like a small one: %s', (_, message) => {
    const small = { ...message, body: Buffer.from(message.body.toString().replace(padding, '"padding":"ä"')) };
    const [read, asSmall] = [parseEvent(message), parseEvent(small)];
    if (read.kind !== 'event' || asSmall.kind !== 'event') throw new Error(JSON.stringify([read, asSmall]));
    expect({ ...read.event, payload: 0 }).toEqual({ ...asSmall.event, payload: 0 });
    expect(read.event.payload.toString().replace(padding, '"padding":"ä"')).toBe(asSmall.event.payload.toString());
  });

  test.each([
    ['not_json', binary({}, `{${padding}`)],
    ['not_an_object', binary({}, `[{${padding}}]`)],
    ['not_an_object', structured(`{${envelope},"data":[{${padding}}]}`)],
    ['not_a_cloudevent', structured(`{${envelope},${padding}}`)],
    ['missing_attribute', structured(`{"id":"a1","data":{${padding}}}`)],
    ['bad_attribute', structured(`{${envelope},"id":[${'[],'.repeat(400_000)}[]],"data":{}}`)],
  ])('is refused like a small one: %s', (reason, message) => {
    expect(parseEvent(message)).toMatchObject({ kind: 'dead', reason });
  });

  // Built as a whole, 24 MB of empty lists take a gigabyte.
  test('with millions of lists is read without building them', async () => {
    const worker = new Worker(
      `import { parseEvent } from ${JSON.stringify(new URL('event.ts', import.meta.url).href)};
       import { parentPort } from 'node:worker_threads';
       const headers = ${JSON.stringify(attributes)};
       const body = Buffer.from('{"a":[' + '[],'.repeat(8_000_000) + '[]],"action":"opened"}');
       parentPort.postMessage(parseEvent({ contentType: 'application/json', headers, body }).event?.action);`,
      { eval: true, resourceLimits: { maxOldGenerationSizeMb: 128 } },
    );
    expect(await once(worker, 'message')).toEqual(['opened']);
    await worker.terminate();
  });
});
