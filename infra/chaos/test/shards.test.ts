/** Events and deliveries spread over several queues. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deliveriesQueue, eventsExchange, eventsQueue } from '@gatepost/contracts/topology';
import { openProducer } from '@gatepost/producer';
import { openApi } from '@gatepost/testkit/api';
import { openSystem, type Service } from '@gatepost/testkit/system';
import { until } from '@gatepost/testkit/until';
import { expect, test } from '@jest/globals';
import { connect } from 'amqplib';
import { createHooks, writeSeed } from '../accounts.ts';
import { publishSteadily } from '../load.ts';
import { openRecord } from '../record.ts';

test('every event is delivered once while the number of shards goes up and down under running dispatchers', async () => {
  await using stack = new AsyncDisposableStack();
  const home = mkdtempSync(join(tmpdir(), 'gatepost-shards-'));
  stack.defer(() => rmSync(home, { recursive: true, force: true }));
  const size = { accounts: 12, eventsPerSecond: 1_000_000 }; // effectively no limit
  const record = stack.use(await openRecord(0, () => 0));
  // An attempt answered too late by a stalled machine would rightly be repeated.
  const env = { DELIVERY_TIMEOUT_MS: '120000' };
  const system = stack.use(await openSystem({ seedFile: writeSeed(home, size), env }));
  const places = await createHooks(await openApi(system), record.url, size);
  const producer = stack.use(await openProducer({ url: system.amqpUrl, source: 'urn:test', maxInFlight: 5_000 }));
  const model = await connect(system.amqpUrl);
  stack.defer(() => model.close());
  const channel = await model.createChannel();
  const waiting = (queues: string[]) =>
    Promise.all(queues.map(async (queue) => (await channel.checkQueue(queue)).messageCount));
  let expected = 0;
  const allDelivered = () => until('all deliveries', () => record.acceptedOnce() === expected);

  /** Publishes while dispatchers with other shards replace the running ones, one after the other. */
  let running: Service[] = [system.dispatcher, await system.startDispatcher()];
  const all = [...running];
  const changeTo = async (shards: { EVENT_SHARDS: string; DELIVERY_SHARDS: string }) => {
    const over = new AbortController();
    const publishing = publishSteadily(producer, places, { perSecond: 25, over: over.signal, onPublish() {} });
    const next: Service[] = [];
    for (const old of running) {
      next.push(await system.startDispatcher(shards));
      await old.end('SIGTERM');
    }
    running = next;
    all.push(...next);
    over.abort();
    for (const { place } of (await publishing).events) expected += place.hooks.length;
    await allDelivered();
  };
  await changeTo({ EVENT_SHARDS: '4', DELIVERY_SHARDS: '3' });
  await changeTo({ EVENT_SHARDS: '2', DELIVERY_SHARDS: '4' });
  await changeTo({ EVENT_SHARDS: '4', DELIVERY_SHARDS: '1' });

  // While no dispatcher runs: an account's events stay in one shard, and so do events without an account.
  for (const dispatcher of running) await dispatcher.end('SIGTERM');
  const shards = [eventsQueue, `${eventsQueue}.2`, `${eventsQueue}.3`, `${eventsQueue}.4`];
  for (const { subject, hooks } of places) {
    for (let index = 0; index < 10; index += 1)
      await producer.publish({ type: 'push', subject, data: { number: index } });
    expected += 10 * hooks.length;
  }
  const counts = await until('what was published', async () => {
    const found = await waiting(shards);
    return found.reduce((sum, count) => sum + count) === 10 * places.length && found;
  });
  expect(counts.every((count) => count % 10 === 0)).toBe(true);
  expect(counts.filter((count) => count > 0).length).toBeGreaterThan(1);
  const { subject, hooks } = places[0]!;
  const bare = { specversion: '1.0', source: 'urn:old', type: 'push', subject, time: new Date().toISOString() };
  for (let index = 0; index < 10; index += 1) {
    const attributes = Object.entries({ ...bare, id: `old ${index}` }).map(([name, value]) => [`ce-${name}`, value]);
    const body = Buffer.from(JSON.stringify({ number: index }));
    channel.publish(eventsExchange, 'push', body, { headers: Object.fromEntries(attributes), mandatory: true });
  }
  expected += 10 * hooks.length;

  // Fewer again: messages waiting in the former shards are delivered all the same.
  running = [await system.startDispatcher()];
  all.push(...running);
  await allDelivered();
  expect(await waiting(shards)).toEqual([0, 0, 0, 0]);
  await changeTo({ EVENT_SHARDS: '1', DELIVERY_SHARDS: '1' });
  await until('nothing to be left', async () =>
    (await waiting([...shards, deliveriesQueue, `${deliveriesQueue}.2`])).every((count) => count === 0),
  );
  // The dispatchers' warnings show which copies were to be expected.
  const warnings = () =>
    all.flatMap((service) => service.output().match(/.*("level":"(warn|error)"|"delivery failed").*/g) ?? []);
  expect([record.accepted.length, record.accepted.length === expected ? [] : warnings()]).toEqual([expected, []]);
}, 600_000);
