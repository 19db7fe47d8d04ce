/** Deliveries to hooks of command lines, as the process that holds the socket gets them. */
import { openResponder } from '@gatepost/amqp/requests';
import {
  decodeRequest,
  encodeAnswer,
  type ForwardAnswer,
  type ForwardRequest,
  listenersExchange,
  listenersTopology,
} from '@gatepost/contracts/forwarding';
import { openLog } from '@gatepost/runtime/log';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import { verify } from '@octokit/webhooks-methods';
import { openWorld } from './world.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const world = stack.use(await openWorld());
await world.addAccount('acme', ['widgets']);
const dispatcher = await world.start({ DELIVERY_TIMEOUT_MS: '60000', RETRY_SCHEDULE_SECONDS: '' });
const received: { key: string; request: ForwardRequest }[] = [];
let answer: (body: string, times: number) => ForwardAnswer | undefined;
const times = new Map<string, number>();
const socket = stack.use(
  await openResponder({
    url: world.amqpUrl,
    name: 'test',
    log: openLog('test', 'silent'),
    topology: listenersTopology,
    exchange: listenersExchange,
    onRequest(asked) {
      const request = decodeRequest(asked.body);
      received.push({ key: asked.routingKey, request });
      const guid = request.headers['X-GitHub-Delivery']!;
      times.set(guid, (times.get(guid) ?? 0) + 1);
      const given = answer(String(request.body), times.get(guid)!);
      if (given) asked.answer(encodeAnswer(given));
    },
  }),
);
const addHook = async (type: string, secret?: string) => {
  const spec = { url: 'ws://localhost:4500/repos/acme/widgets/hooks/1/socket', repository: 'widgets', events: [type] };
  const id = await world.addHook('acme', { ...spec, ...(secret !== undefined && { secret }) });
  await world.pool.query(`UPDATE hooks SET name = 'cli' WHERE id = $1`, [id]);
  return id;
};
const response = (status: number, body = ''): ForwardAnswer => ({
  kind: 'response',
  status,
  headers: { 'content-type': 'text/plain' },
  body: Buffer.from(body),
});

test('an event for a listener goes, signed, to the process that has its socket, and the answer is recorded', async () => {
  const id = await addHook('issues', 's3cret');
  await socket.bind(String(id));
  answer = () => response(201, 'made');
  const guid = await world.publish({ type: 'issues', payload: '{"action":"opened","ä":1}' });
  const [row] = await world.deliveries(guid);
  expect(row).toMatchObject({ status: 'OK', status_code: 201, hook_id: id, attempt: 1, error: null });
  expect(row).toMatchObject({ url: 'ws://localhost:4500/repos/acme/widgets/hooks/1/socket' });
  expect(row!.response_headers).toEqual({ 'content-type': 'text/plain' });
  expect(String(row!.response_body)).toBe('made');
  const { request } = received.find(({ key }) => key === String(id))!;
  expect(request.headers).toMatchObject({ 'X-GitHub-Event': 'issues', 'X-GitHub-Delivery': guid, Accept: '*/*' });
  expect(await verify('s3cret', String(request.body), request.headers['X-Hub-Signature-256']!)).toBe(true);
  expect(request.timeoutMs).toBe(60_000);
});

test.each<[string, () => ForwardAnswer | undefined, object]>([
  ['that its receiver refuses', () => response(500), { status: 'Invalid HTTP response', status_code: 500 }],
  ['without an answer in time', () => ({ kind: 'timeout' }), { status: 'Timed out', status_code: 504 }],
  [
    'whose receiver is not there',
    () => ({ kind: 'error', code: 'ELISTENER', message: 'connect ECONNREFUSED', hadResponse: false }),
    { status: 'Failed to connect to network', status_code: 502, error: 'connect ECONNREFUSED' },
  ],
])('a forwarded delivery %s is recorded as such', async (what, how, expected) => {
  const type = `custom_${what.replaceAll(' ', '_')}`;
  const id = await addHook(type);
  await socket.bind(String(id));
  answer = how;
  const [row] = await world.deliveries(await world.publish({ type }));
  expect(row).toMatchObject(expected);
});

test('a delivery that nobody listens for fails at once', async () => {
  const id = await addHook('star');
  const [row] = await world.deliveries(await world.publish({ type: 'star' }));
  expect(row).toMatchObject({ status: 'Failed to connect to network', status_code: 502, error: 'ENOLISTENER' });
  await socket.bind(String(id));
  answer = () => response(200);
  expect((await world.deliveries(await world.publish({ type: 'star' })))[0]).toMatchObject({ status: 'OK' });
});

test('a delivery that its listener was too busy for comes again, and does not count as an attempt', async () => {
  const id = await addHook('fork');
  await socket.bind(String(id));
  answer = (_body, nth) => (nth === 1 ? { kind: 'busy' } : response(200));
  const firstAttempts = async () => (await dispatcher.metric(/^dispatcher_event_age_seconds_count/))!;
  const before = await firstAttempts();
  const guid = await world.publish({ type: 'fork' });
  expect(await world.deliveries(guid)).toMatchObject([{ status: 'OK', attempt: 1 }]);
  expect(times.get(guid)).toBe(2);
  await until('nothing waits', async () => (await world.pool.query('SELECT FROM parked')).rowCount === 0);
  expect(await dispatcher.metric(/^dispatcher_deliveries_in_flight/)).toBe(0);
  // Its age was taken when it was sent at first, without the wait for its listener.
  expect((await firstAttempts()) - before).toBe(1);
});

test('a forwarded delivery of which the process says nothing is recorded as such', async () => {
  expect(await dispatcher.stop()).toBe(0);
  await world.start({ DELIVERY_TIMEOUT_MS: '1000', RETRY_SCHEDULE_SECONDS: '' }); // only what is to time out gets little time
  await socket.bind(String(await addHook('gollum')));
  answer = () => undefined;
  const [row] = await world.deliveries(await world.publish({ type: 'gollum' }));
  expect(row).toMatchObject({ status: 'Failed to connect to network', error: 'ENOLISTENER' });
});
