/** `X-Gatepost-Sequence`: the number of an event among those of its hook (docs/reference/delivery.md#gaps). */
import { openReceiver, type Receiver } from '@gatepost/testkit/receiver';
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Dispatcher, openWorld, type World } from './world.ts';

let world: World;
let receiver: Receiver;
let dispatchers: Dispatcher[];

beforeAll(async () => {
  world = await openWorld();
  receiver = await openReceiver();
  await world.addAccount('acme', ['widgets', 'gadgets']);
  await world.addAccount('slow', ['r']);
  await world.pool.query("UPDATE accounts SET throttle_rate = 50, throttle_burst = 5 WHERE login = 'slow'");
  const env = { RETRY_SCHEDULE_SECONDS: '1', THROTTLE_RATE: '100000', THROTTLE_BURST: '100000' };
  dispatchers = [await world.start(env), await world.start(env)];
});
afterAll(async () => {
  await receiver?.[Symbol.asyncDispose]();
  await world?.[Symbol.asyncDispose]();
});

const at = (path: string) => receiver.received.filter((request) => request.path === path);
const numbersAt = (path: string) =>
  at(path)
    .map(({ headers }) => Number(headers['x-gatepost-sequence']))
    .sort((a, b) => a - b);
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

test('the events of each hook are numbered without gaps, whichever dispatcher routes them and however often they are published', async () => {
  receiver.behave({});
  await world.addHook('acme', { url: `${receiver.url}/org` });
  await world.addHook('acme', { url: `${receiver.url}/issues`, repository: 'widgets', events: ['issues'] });
  await world.addHook('slow', { url: `${receiver.url}/slow` });
  const publish = async (index: number) => {
    await world.publish({ id: `i${index}`, type: 'issues' });
    await world.publish({ id: `p${index}`, type: 'push', subject: index % 2 ? 'acme/gadgets' : 'acme/widgets' });
    await world.publish({ id: `i${index}`, type: 'issues' });
    await world.publish({ id: `s${index}`, subject: 'slow/r' });
  };
  await Promise.all(upTo(40).map(publish));
  await until('all are delivered', () => receiver.received.length >= 160);
  expect(numbersAt('/org')).toEqual(upTo(80));
  expect(numbersAt('/issues')).toEqual(upTo(40));
  expect(numbersAt('/slow')).toEqual(upTo(40)); // some of them have waited for the limit
  for (const dispatcher of dispatchers)
    await until(
      'each has routed some',
      async () => (await dispatcher.metric(/^dispatcher_events_total\{result="matched"/))! > 0,
    );
});

test('an event has one sequence number for all its attempts, and a hook’s own header of that name is kept', async () => {
  receiver.behave(({ path }) => ({ status: path === '/fails' ? 500 : 200 }));
  await world.pool.query('DELETE FROM hooks');
  await world.addHook('acme', { url: `${receiver.url}/fails` });
  await world.addHook('acme', { url: `${receiver.url}/own`, headers: { 'x-gatepost-Sequence': 'mine' } });
  const first = await world.publish({});
  await world.deliveries(first, 3);
  const second = await world.publish({});
  await world.deliveries(second, 3);
  expect(
    at('/fails')
      .map(({ headers }) => [headers['x-github-delivery'], headers['x-gatepost-sequence']])
      .sort(),
  ).toEqual(
    [
      [first, '1'],
      [first, '1'],
      [second, '2'],
      [second, '2'],
    ].sort(),
  );
  expect(at('/own').map(({ headers }) => headers['x-gatepost-sequence'])).toEqual(['mine', 'mine']);
  const { rows } = await world.pool.query(
    'SELECT DISTINCT attempt, sequence FROM deliveries WHERE guid = $1 ORDER BY 1',
    [second],
  );
  expect(rows).toEqual([
    { attempt: 1, sequence: '2' },
    { attempt: 2, sequence: '2' },
  ]);
});
