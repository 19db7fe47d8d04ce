/** Whatever a producer publishes, it ends as an event or as a dead letter with its reason, and nothing behind it waits. */
import { randomUUID } from 'node:crypto';
import { jobHeader } from '@gatepost/contracts/delivery-job';
import { deepJson, fuzz, oddText, oddValue } from '@gatepost/testkit/fuzz';
import { openProducer, type Producer } from '@gatepost/testkit/producer';
import { openReceiver, type Receiver } from '@gatepost/testkit/receiver';
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { publishDeadLetter } from '../../src/settling/dead-letter.ts';
import { type DeadLetters, openDeadLetters } from '../dead-letters.ts';
import { type Dispatcher, openWorld, type World } from '../world.ts';

// Stands in every secret, and must stand in nothing that anybody reads.
const canary = 'c4n4ry';
let world: World;
let receiver: Receiver;
let producer: Producer;
let dead: DeadLetters;
let dispatcher: Dispatcher;

beforeAll(async () => {
  world = await openWorld();
  receiver = await openReceiver();
  await world.addAccount('acme', ['widgets']);
  const hook = {
    url: receiver.url,
    secret: `${canary}-secret`,
    headers: { 'X-Key': `${canary}-header` },
    retry: false,
  };
  await world.addHook('acme', { ...hook, repository: 'widgets', events: ['push', 'issues'] });
  producer = await openProducer(world.amqpUrl);
  dispatcher = await world.start({ THROTTLE_RATE: '100000', THROTTLE_BURST: '100000' });
  dead = await openDeadLetters(world.amqpUrl);
});
afterAll(async () => {
  expect(await dispatcher?.stop()).toBe(0);
  for (const one of [producer, dead, receiver, world]) await one?.[Symbol.asyncDispose]();
});

const now = () => new Date().toISOString();
/** Mostly what the attribute should be, and sometimes anything. */
const mostly = (good: fc.Arbitrary<unknown>, odd: fc.Arbitrary<unknown> = oddValue) =>
  fc.oneof({ weight: 12, arbitrary: good }, { weight: 1, arbitrary: odd });
/** A JSON value as a header: RabbitMQ 3.10 itself refuses one without a value, and AMQP has no numbers so large, nor names so long; `!` is the client’s own mark. */
function writable(value: unknown): unknown {
  if (value === null) return false;
  if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)) return String(value);
  if (Array.isArray(value)) return value.map(writable);
  if (typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name === '!' ? '?' : name.slice(0, 60), writable(member)]),
  );
}

// What AMQP knows beside JSON: bytes, timestamps, numbers of other sizes.
const amqpValue = fc.oneof(
  { weight: 4, arbitrary: oddValue.map(writable) },
  {
    weight: 1,
    arbitrary: fc.oneof(
      fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
      fc.constantFrom<unknown>(0, 1, 1_750_000_000, 2 ** 40, 2 ** 53).map((value) => ({ '!': 'timestamp', value })),
      fc.constantFrom<unknown>(
        { '!': 'decimal', value: { digits: 1234, places: 2 } },
        { '!': 'int64', value: 5 },
        { '!': 'float', value: 1.5 },
      ),
    ),
  },
);
const attributes = fc.record({
  specversion: mostly(fc.constant('1.0'), amqpValue),
  id: mostly(
    fc.oneof({ weight: 9, arbitrary: fc.uuid() }, { weight: 1, arbitrary: fc.constantFrom('again', 'once more') }),
    amqpValue,
  ),
  source: mostly(fc.constantFrom('urn:fuzz', 'https://example.com/fuzz'), amqpValue),
  type: mostly(fc.constantFrom('push', 'issues', 'create', 'team'), amqpValue),
  subject: mostly(
    fc.constantFrom('acme/widgets', 'ACME/Widgets', 'acme', 'acme/none', 'nobody/none', 'acme/..'),
    amqpValue,
  ),
  time: mostly(
    fc.oneof(fc.constant(0).map(now), fc.constantFrom('0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999999999+14:00')),
    amqpValue,
  ),
  action: fc.option(mostly(fc.constantFrom('opened', 'closed'), amqpValue), { nil: undefined }),
  tagspushed: fc.option(mostly(fc.constantFrom('0', 3, '4', '-1'), amqpValue), { nil: undefined }),
});
const foreignHeaders = fc.dictionary(
  fc.oneof(
    fc.constantFrom(
      'x-death',
      'x-delivery-count',
      'x-first-death-queue',
      'x-reason',
      'x-detail',
      'x-last-death-reason',
      jobHeader,
      'traceparent',
    ),
    fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 30 }),
  ),
  amqpValue,
  { maxKeys: 3 },
);
const payload = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.dictionary(fc.oneof(fc.constantFrom('action', 'ref', '__proto__'), oddText), oddValue, {
      maxKeys: 4,
    }),
  },
  { weight: 1, arbitrary: oddValue },
);
const body = fc.oneof(
  { weight: 10, arbitrary: payload.map((value) => Buffer.from(JSON.stringify(value))) },
  { weight: 1, arbitrary: deepJson.map((text) => Buffer.from(`{"a":${text}}`)) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes)) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(
        '',
        '[]',
        'null',
        '{"a":1',
        '\ufeff{}',
        '{"action":"\\u0000"}',
        '{"action":"\\ud800"}',
        '{"a":1}{"b":2}',
      )
      .map((text) => Buffer.from(text)),
  },
);
const properties = fc.record(
  {
    contentEncoding: fc.constantFrom('gzip', 'utf-8', ''),
    priority: fc.constantFrom(0, 9, 255),
    timestamp: fc.constantFrom(0, 1_750_000_000),
    type: oddText.map((text) => text.slice(0, 60)),
    appId: oddText.map((text) => text.slice(0, 60)),
    correlationId: oddText.map((text) => text.slice(0, 60)),
    replyTo: fc.constantFrom('gatepost.deliveries', ''),
    deliveryMode: fc.constantFrom(1, 2),
  },
  { requiredKeys: [] },
);
const prefix = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom('cloudEvents:', 'cloudEvents_', 'ce-', 'ce_') },
  { weight: 1, arbitrary: fc.constantFrom('', 'ce:', 'CLOUDEVENTS:', 'x-') },
);

type Message = { routingKey: string; body: Buffer; options: Record<string, unknown> };
const routingKey = fc.oneof(
  fc.constantFrom('push', 'issues', '', '#', 'a.b.c'),
  oddText.map((text) => text.slice(0, 60)),
);
const contentType = mostly(
  fc.constantFrom('application/json', 'application/json; charset=utf-8', undefined),
  oddText.map((text) => text.slice(0, 60)),
);
const binary = fc.tuple(attributes, prefix, foreignHeaders, body, contentType, properties, routingKey).map(
  ([attributes, prefix, foreign, body, contentType, more, routingKey]): Message => ({
    routingKey,
    body,
    options: {
      ...more,
      contentType,
      headers: {
        ...foreign,
        ...Object.fromEntries(
          Object.entries(attributes).flatMap(([name, value]) => (value === undefined ? [] : [[prefix + name, value]])),
        ),
      },
    },
  }),
);
const structured = fc
  .tuple(attributes, fc.option(payload, { nil: undefined }), foreignHeaders, properties, routingKey)
  .map(
    ([attributes, data, headers, more, routingKey]): Message => ({
      routingKey,
      body: Buffer.from(JSON.stringify({ ...attributes, data, datacontenttype: 'application/json' })),
      options: { ...more, headers, contentType: 'application/cloudevents+json; charset=utf-8' },
    }),
  );
const message = fc.oneof({ weight: 3, arbitrary: binary }, { weight: 1, arbitrary: structured });

let sent = 0;
/** Publishes it under a number of its own. */
async function publish({ routingKey, body, options }: Message): Promise<void> {
  sent += 1;
  const headers = { ...(options.headers as object), 'x-fuzz': sent };
  await producer.send(routingKey, body, { ...options, headers, messageId: `fuzz-${sent}` });
}

/** How many events ended in each way. */
async function outcomes(): Promise<Record<string, number>> {
  const port = dispatcher.log.find((line) => 'ops.port' in line)?.['ops.port'];
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return Object.fromEntries(
    [...text.matchAll(/^dispatcher_events_total\{result="(\w+)"\} (\d+)$/gm)].map(([, result, count]) => [
      result!,
      Number(count),
    ]),
  );
}
const total = (counts: Record<string, number>) => Object.values(counts).reduce((sum, count) => sum + count, 0);

test('every message becomes an event or a dead letter with a reason, and so do its neighbours', async () => {
  const isWhole = await fuzz(
    fc.array(message, { minLength: 20, maxLength: 20 }),
    async (messages) => {
      await Promise.all(messages.map(publish));
      await until(`all ${sent} messages to end`, async () => total(await outcomes()) === sent);
      expect(await world.publisher.waiting('gatepost.events')).toBe(0);
    },
    { numRuns: 60, timeLimitMs: 9_000 },
  );

  const counts = await outcomes();
  // The generator is worth something only while it gets through to every end.
  if (isWhole)
    for (const [result, count] of Object.entries(counts))
      expect({ result, some: count > 0 }).toEqual({ result, some: true });
  const { rows } = await world.pool.query("SELECT count(*)::integer AS count FROM events WHERE source <> 'urn:test'");
  expect(rows[0].count).toBe(counts.matched! + counts.unmatched! + counts.too_many_tags!);
  await until('the dead letters', () => dead.all.length === counts.dead);
  expect(new Set(dead.all.map(({ headers }) => headers['x-fuzz'])).size).toBe(counts.dead);
  for (const { reason, detail } of dead.all) {
    expect(reason).toMatch(/^[a-z0-9_]{5,30}$/);
    expect(String(detail).length).toBeGreaterThan(5);
  }
  // What matched was delivered, and a good event still is.
  const matched = await world.pool.query(
    'SELECT count(*)::integer AS count FROM events WHERE cardinality(hook_ids) > 0',
  );
  await until('the deliveries', async () => {
    const { rows: made } = await world.pool.query(
      "SELECT count(*)::integer AS count FROM deliveries WHERE status = 'OK'",
    );
    return made[0].count === matched.rows[0].count;
  });
  await world.deliveries(await world.publish({ type: 'push' }));

  // Nothing secret reached a log, a dead letter or what the API shows of a delivery.
  expect(receiver.received[0]?.headers['x-key']).toContain(canary);
  expect(JSON.stringify(dispatcher.log)).not.toContain(canary);
  expect(JSON.stringify(dead.all)).not.toContain(canary);
  const shown = await world.pool.query('SELECT request_headers, response_headers, error, url FROM deliveries');
  expect(JSON.stringify(shown.rows)).not.toContain(canary);
  expect(dispatcher.log.filter(({ level }) => level === 'error')).toEqual([]);
});

// Other clients write tables that amqplib reads but cannot write again: a member named `!`, values that are none.
test.each<[string, Record<string, unknown>]>([
  ['a member named !', { a: { '!': 'x' } }],
  ['a member named ! with a known type', { a: { '!': 'timestamp' } }],
  ['a header named !', { '!': 'x', b: 'c' }],
  ['deeply nested members', { a: JSON.parse(`${'{"a":'.repeat(50)}1${'}'.repeat(50)}`) }],
  ['a timestamp and a decimal that are none', { a: { '!': 'timestamp', value: -1 }, b: { '!': 'decimal', value: {} } }],
  ['large numbers', { a: 2 ** 62, b: -(2 ** 62), c: 1e300 }],
])('a bad message with %s among its headers is dead-lettered like any other', async (_what, headers) => {
  const id = await publishAsOther(headers, 'no JSON');
  expect(await dead.of(id)).toMatchObject({ reason: 'not_json' });
});

test('a bad message whose id and type are not text is dead-lettered like any other', async () => {
  // 255 bytes that are not UTF-8 are read as 255 characters of three bytes, too many to be written again. Our client cannot send them.
  const unreadable = '\ufffd'.repeat(255);
  const message = { body: Buffer.from('no JSON'), headers: { a: 1 }, messageId: unreadable, contentType: unreadable };
  await publishDeadLetter(world.publisher, message, 'not_json', 'the body is not JSON');
  expect(await dead.of(unreadable.slice(0, 80))).toMatchObject({ reason: 'not_json', body: message.body });
});

/** Publishes as a client in another language, through the broker's management. */
async function publishAsOther(headers: Record<string, unknown>, payload: string): Promise<string> {
  const management = new URL(process.env.TEST_AMQP_MANAGEMENT_URL!);
  const authorization = `Basic ${Buffer.from(`${management.username}:${management.password}`).toString('base64')}`;
  const vhost = new URL(world.amqpUrl).pathname.slice(1);
  const id = `other-${randomUUID()}`;
  const response = await fetch(new URL(`/api/exchanges/${vhost}/gatepost.events/publish`, management.origin), {
    method: 'POST',
    headers: { authorization },
    body: JSON.stringify({
      properties: { headers, message_id: id },
      routing_key: 'push',
      payload,
      payload_encoding: 'string',
    }),
  });
  expect(await response.json()).toEqual({ routed: true });
  return id;
}
