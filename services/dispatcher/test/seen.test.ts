/** What operators see of a dispatcher. */
import { openReceiver, type Receiver } from '@gatepost/testkit/receiver';
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Dispatcher, openWorld, type World } from './world.ts';

let world: World;
let receiver: Receiver;
let dispatcher: Dispatcher;

beforeAll(async () => {
  world = await openWorld();
  receiver = await openReceiver();
  await world.addAccount('acme', ['widgets']);
  dispatcher = await world.start({ RETRY_SCHEDULE_SECONDS: '1,3600', LOG_LEVEL: 'info' });
});
afterAll(async () => {
  await receiver?.[Symbol.asyncDispose]();
  expect(await dispatcher?.stop()).toBe(0);
  await world?.[Symbol.asyncDispose]();
});

test('with debug logging the log lines of a delivery are found by its guid and ids', async () => {
  for (const module of ['delivering', 'routing']) {
    const body = JSON.stringify({ level: 'debug', module });
    expect((await dispatcher.ask('/log-level', { method: 'PUT', body })).status).toBe(200);
  }
  receiver.behave((_request, index) => ({ status: index < 1 ? 500 : 200 }));
  const hook = await world.addHook('acme', { url: receiver.url });
  const guid = await world.publish({});
  const [first, second] = await world.deliveries(guid, 2);
  const told = await until('all lines', () => {
    const lines = dispatcher.log.filter((line) => line['event.guid'] === guid);
    return lines.length >= 3 && lines;
  });
  expect(told.map((line) => [line.module, line.message, line['delivery.id'], line['hook.id'], line.attempt])).toEqual([
    ['routing', 'event routed', undefined, undefined, undefined],
    ['delivering', 'delivery failed', Number(first!.id), hook, 1],
    ['delivering', 'delivered', Number(second!.id), hook, 2],
  ]);
  expect(told[1]).toHaveProperty('retry_at');
});

test('the log line of a dead letter names the event of its message', async () => {
  const guid = await world.publish({ headers: { 'cloudEvents:time': 'yesterday' } });
  const line = await until('its line', () =>
    dispatcher.log.find(({ message }) => message === 'moved a message to the dead letters'),
  );
  expect(line).toMatchObject({ 'event.guid': guid, reason: 'bad_attribute', module: 'routing' });
});

test('a log line that names a delivery names its guid as well', () => {
  const lines = dispatcher.log.filter((line) => 'delivery.id' in line);
  expect(lines.length).toBeGreaterThan(0);
  expect(lines.filter((line) => typeof line['event.guid'] !== 'string')).toEqual([]);
});

test('waiting deliveries are counted by reason, with the age of the oldest, and by account, once for all dispatchers', async () => {
  await world.pool.query('DELETE FROM hooks');
  const id = await world.addAccount('patient', ['widgets']);
  await world.pool.query('UPDATE accounts SET throttle_rate = 0.001, throttle_burst = 1 WHERE id = $1', [id]);
  receiver.behave({ status: 500 });
  await world.addHook('patient', { url: receiver.url, retry: false });
  await world.addHook('acme', { url: receiver.url });
  const first = await world.publish({ subject: 'patient/widgets' });
  for (let count = 0; count < 3; count += 1) await world.publish({ subject: 'patient/widgets' });
  const guid = await world.publish({});
  await world.deliveries(first);
  await world.deliveries(guid, 2);
  // As if it had been so for an hour.
  await until('all of it waits', async () => {
    const { rowCount } = await world.pool.query("UPDATE parked SET parked_at = now() - interval '1 hour'");
    return (rowCount ?? 0) >= 4;
  });
  await world.pool.query("UPDATE waiting_summary SET next_at = '-infinity'");
  const waiting = async (reason: string) =>
    dispatcher.metric(new RegExp(`^dispatcher_waiting_deliveries\\{reason="${reason}"\\}`));
  const age = () => dispatcher.metric(/^dispatcher_waiting_oldest_seconds\{reason="throttled"\}/);
  // It counts every few seconds anyway: the count before may have been of these three, but not of an hour.
  await until('they are counted as they are now', async () => ((await age()) ?? 0) > 3_590);
  expect(await waiting('throttled')).toBe(3);
  expect(await waiting('receiver_busy')).toBe(0);
  expect(await waiting('paused')).toBe(0);
  expect(await waiting('retry')).toBeGreaterThan(0);
  expect(await dispatcher.metric(/^dispatcher_dispatchers_alive/)).toBe(1);
  const top = (await (await dispatcher.ask('/top')).json()) as {
    waiting: { accounts: { id: number; login: string; deliveries: number }[] };
    failing: { hooks: { account: number; origin: string; failures: number }[] };
  };
  expect(top.waiting.accounts).toMatchObject([{ id, login: 'patient', deliveries: 3 }]);
  expect(top.failing.hooks.map(({ account }) => account)).toContain(id);
  expect(top.failing.hooks[0]!.origin).toBe(new URL(receiver.url).origin);
});

test('metrics have the lengths of the queues, and from the start the dead letters by reason', async () => {
  const dead = () => dispatcher.metric(/^dispatcher_queue_messages\{queue="dead"\}/);
  await until('its dead letter is seen in the queue', async () => (await dead()) === 1);
  expect(await dispatcher.metric(/^dispatcher_dead_letters_total\{reason="bad_attribute"\}/)).toBe(1);
  expect(await dispatcher.metric(/^dispatcher_dead_letters_total\{reason="not_json"\}/)).toBe(0);
});
