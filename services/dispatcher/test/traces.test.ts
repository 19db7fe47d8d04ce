/** Traces of a delivery, at a collector that takes OTLP. */
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventsExchange } from '@gatepost/contracts/topology';
import { type Collector, openCollector } from '@gatepost/testkit/collector';
import { openReceiver, type Receiver } from '@gatepost/testkit/receiver';
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { type Dispatcher, openWorld, type World } from './world.ts';

let world: World;
let receiver: Receiver;
let collector: Collector;
let dispatcher: Dispatcher;

beforeAll(async () => {
  world = await openWorld();
  receiver = await openReceiver();
  collector = await openCollector();
  await world.addAccount('acme', ['widgets']);
  dispatcher = await world.start({
    RETRY_SCHEDULE_SECONDS: '1,3600',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_SERVICE_NAME: 'our-dispatcher',
  });
});
afterAll(async () => {
  await receiver?.[Symbol.asyncDispose]();
  expect(await dispatcher?.stop()).toBe(0);
  await collector?.[Symbol.asyncDispose]();
  await world?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await world.pool.query('DELETE FROM hooks');
  receiver.received.length = 0;
  receiver.behave({});
});

const newTrace = () => ({ traceId: randomBytes(16).toString('hex'), spanId: randomBytes(8).toString('hex') });
const headerOf = ({ traceId, spanId }: ReturnType<typeof newTrace>) => `00-${traceId}-${spanId}-01`;

test('one trace leads from the producer through routing and each attempt to the receiver', async () => {
  receiver.behave((_request, index) => ({ status: index < 1 ? 500 : 200 }));
  await world.addHook('acme', { url: receiver.url, secret: 's' });
  const producer = newTrace();
  const guid = await world.publish({ headers: { traceparent: headerOf(producer) } });
  const rows = await world.deliveries(guid, 2);
  const spans = await collector.trace(producer.traceId, 4);
  const [route, job] = ['route an event', 'handle a delivery job'].map((name) =>
    spans.find((span) => span.name === name),
  );
  const attempts = spans.filter(({ name }) => name === 'deliver');
  const [first, second] = [route, job].map((parent) => attempts.find((span) => span.parentSpanId === parent?.spanId));
  expect([route, first, job, second].map((span) => [span!.kind, span!.status])).toEqual([
    [5, 0],
    [3, 2],
    [5, 0],
    [3, 0],
  ]);
  expect(route).toMatchObject({ service: 'our-dispatcher', parentSpanId: producer.spanId });
  expect(job).toMatchObject({ parentSpanId: route!.spanId });
  expect(second!.attributes).toMatchObject({
    'http.response.status_code': 200,
    'server.address': '127.0.0.2',
    'gatepost.event.guid': guid,
    'gatepost.delivery.id': Number(rows[1]!.id),
    'gatepost.attempt': 2,
  });
  expect(receiver.received.map(({ headers }) => headers.traceparent)).toEqual(
    [first, second].map((span) => `00-${producer.traceId}-${span!.spanId}-01`),
  );
  // The log of deliveries and that of the process lead to the trace.
  expect(rows[0]!.request_headers.traceparent).toContain(producer.traceId);
  const line = dispatcher.log.find((one) => one['event.guid'] === guid && one.message === 'delivered');
  expect(line).toMatchObject({ trace_id: producer.traceId });
});

test('a delivery that waited for its limit stays in its trace, which shows the wait', async () => {
  await world.addAccount('patient', ['widgets']);
  await world.pool.query("UPDATE accounts SET throttle_rate = 0.001, throttle_burst = 1 WHERE login = 'patient'");
  await world.addHook('patient', { url: receiver.url });
  await world.publish({ subject: 'patient/widgets' });
  const producer = newTrace();
  const guid = await world.publish({ subject: 'patient/widgets', headers: { traceparent: headerOf(producer) } });
  await until('it waits', async () => {
    const { rowCount } = await world.pool.query('SELECT FROM parked WHERE job LIKE $1', [`%${guid}%`]);
    return rowCount === 1;
  });
  // It is another dispatcher that finds it there later.
  expect(await dispatcher.stop()).toBe(0);
  dispatcher = await world.start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  await world.pool.query("UPDATE accounts SET throttle_rate = 1000, throttle_burst = 1000 WHERE login = 'patient'");
  await world.deliveries(guid);
  const spans = await collector.trace(producer.traceId, 4);
  const named = (name: string) => spans.find((span) => span.name === name)!;
  expect(spans.map(({ name }) => name).sort()).toEqual([
    'deliver',
    'handle a delivery job',
    'route an event',
    'wait for the limit',
  ]);
  expect(named('handle a delivery job')).toMatchObject({
    service: 'gatepost-dispatcher',
    parentSpanId: named('route an event').spanId,
  });
  const wait = named('wait for the limit');
  expect(wait.parentSpanId).toBe(named('handle a delivery job').spanId);
  expect(wait.beganAt).toBeLessThan(named('handle a delivery job').beganAt);
});

test('a structured event carries its trace too, and a delivery that is sent again after a loss continues it', async () => {
  expect(await dispatcher.stop()).toBe(0);
  dispatcher = await world.start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, RESCUE_AFTER_SECONDS: '40' });
  await world.addHook('acme', { url: receiver.url });
  const producer = newTrace();
  const guid = randomUUID();
  const attributes = { id: guid, source: 'urn:test', type: 'issues', subject: 'acme/widgets' };
  const envelope = {
    specversion: '1.0',
    ...attributes,
    time: new Date().toISOString(),
    traceparent: headerOf(producer),
  };
  await world.publisher.publish({
    exchange: eventsExchange,
    routingKey: 'issues',
    messageId: guid,
    contentType: 'application/cloudevents+json',
    body: Buffer.from(JSON.stringify({ ...envelope, data: { action: 'opened' } })),
  });
  await world.deliveries(guid);
  // As if PostgreSQL had lost its outcome, and RabbitMQ the job.
  await world.pool.query('DELETE FROM deliveries WHERE guid = $1', [guid]);
  // Under its lock: else one that is looking at the moment may note afterwards how far it has come.
  await world.pool.query(`
    SELECT pg_advisory_xact_lock(hashtextextended('gatepost sweep', 0));
    UPDATE sweeps SET swept_until = now() - interval '1 hour'`);
  await until('it is sent again', () => receiver.received.length >= 2);
  const spans = await collector.trace(producer.traceId, 4);
  const route = spans.find(({ name }) => name === 'route an event');
  const again = spans.find(({ name }) => name === 'handle a delivery job');
  expect(route).toMatchObject({ parentSpanId: producer.spanId });
  expect(again).toMatchObject({ parentSpanId: route!.spanId });
});

test('a hook keeps its own traceparent header, and an event without a trace starts one', async () => {
  await world.addHook('acme', { url: receiver.url, headers: { Traceparent: 'its own' } });
  const guid = await world.publish({ headers: { traceparent: 'nonsense' } });
  await world.deliveries(guid);
  expect(receiver.received.map(({ headers }) => headers.traceparent)).toEqual(['its own']);
  const root = await until('its trace', () =>
    collector.spans.find((span) => span.attributes['gatepost.event.guid'] === guid && span.name === 'route an event'),
  );
  expect(root.parentSpanId).toBeUndefined();
});

test('without a collector the receiver gets no trace headers', async () => {
  expect(await dispatcher.stop()).toBe(0);
  dispatcher = await world.start();
  await world.addHook('acme', { url: receiver.url });
  const guid = await world.publish({ headers: { traceparent: headerOf(newTrace()) } });
  await world.deliveries(guid);
  expect(receiver.received[0]!.headers.traceparent).toBeUndefined();
});

test('traces go to the collector that a file names', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'traces-')), 'endpoint');
  writeFileSync(file, `${collector.url}\n`);
  expect(await dispatcher.stop()).toBe(0);
  dispatcher = await world.start({ OTEL_EXPORTER_OTLP_ENDPOINT_FILE: file });
  const producer = newTrace();
  await world.publish({ headers: { traceparent: headerOf(producer) } });
  const [span] = await collector.trace(producer.traceId, 1);
  expect(span).toMatchObject({ name: 'route an event', parentSpanId: producer.spanId });
});
