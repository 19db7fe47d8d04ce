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

test('the lines of a delivery are found by its guid and its ids, once its modules are asked for more', async () => {
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

test('the line of a dead letter names the event that its message was to be', async () => {
  const guid = await world.publish({ headers: { 'cloudEvents:time': 'yesterday' } });
  const line = await until('its line', () =>
    dispatcher.log.find(({ message }) => message === 'moved a message to the dead letters'),
  );
  expect(line).toMatchObject({ 'event.guid': guid, reason: 'bad_attribute', module: 'routing' });
});

test('a line that names a delivery names its guid too', () => {
  const lines = dispatcher.log.filter((line) => 'delivery.id' in line);
  expect(lines.length).toBeGreaterThan(0);
  expect(lines.filter((line) => typeof line['event.guid'] !== 'string')).toEqual([]);
});
