/** What users are told about a delivery in progress, and why an event made none: with a producer, a dispatcher and a receiver at work. */
import { openApi } from '@gatepost/testkit/api';
import { openProducer } from '@gatepost/testkit/producer';
import { openReceiver } from '@gatepost/testkit/receiver';
import { openSystem } from '@gatepost/testkit/system';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const env = { RETRY_SCHEDULE_SECONDS: '3600', DELIVERY_CONCURRENCY: '8', DELIVERY_TIMEOUT_MS: '60000' };
const system = stack.use(await openSystem({ env }));
const api = await openApi(system);
const producer = stack.use(await openProducer(system.amqpUrl));
const receiver = stack.use(await openReceiver());

type Explained = {
  state: string;
  delivery_id: number | null;
  since: string;
  until: { at: string | null; place: number | null } | null;
  causes: { cause: string; reason: string | null }[];
  steps: { step: string; at: string; attempt: number | null; exact: boolean }[];
  next: string | null;
};
const hooks = '/repos/acme/widgets/hooks';
const get = async (path: string): Promise<Explained> => {
  const { status, body } = await api.call('GET', path);
  if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
  return body as Explained;
};
const explain = (hook: number, guid: string) => get(`${hooks}/${hook}/explain?guid=${guid}`);
const inState = (state: string, hook: number, guid: string) =>
  until(`${guid} is ${state}`, async () => {
    const explained = await explain(hook, guid);
    return explained.state === state && explained;
  });
const stepsOf = ({ steps }: Explained) => steps.map(({ step }) => step);
const causesOf = ({ causes }: Explained) => causes.map(({ cause }) => cause);

test('a delivered event is explained with the time of each step, and a failed one with its next attempt and what to do', async () => {
  receiver.behave(({ path }) => ({ status: path === '/broken' ? 500 : 204 }));
  const well = await api.createHook({ url: receiver.url });
  const broken = await api.createHook({ url: `${receiver.url}/broken` }, ['issues']);
  const delivered = await inState('delivered', well, await producer.publish());
  expect(stepsOf(delivered)).toEqual(['occurred', 'taken', 'matched', 'attempt', 'recorded']);
  expect(delivered).toMatchObject({ until: null, next: null, causes: [] });
  // In order, apart from rounding to milliseconds.
  const times = delivered.steps.slice(1).map(({ at }) => Date.parse(at));
  for (const [index, at] of times.entries()) expect(at).toBeGreaterThan((times[index - 1] ?? 0) - 5);

  const failing = await inState('retry', broken, await producer.publish({ type: 'issues' }));
  expect(stepsOf(failing).slice(-3)).toEqual(['attempt', 'recorded', 'waits']);
  const waitMs = Date.parse(failing.until!.at!) - Date.parse(failing.since);
  expect(waitMs).toBeGreaterThan(3_200_000); // an hour, give or take a tenth
  expect(waitMs).toBeLessThan(4_000_000);
  expect(failing.next).toContain('/attempts');

  await api.call('PATCH', `${hooks}/${broken}`, { retry: 'off' });
  const given = await producer.publish({ type: 'issues' });
  const failed = await inState('failed', broken, given);
  expect(await get(`${hooks}/${broken}/deliveries/${failed.delivery_id}/explain`)).toEqual(failed);
  expect((await api.call('POST', `${hooks}/${broken}/deliveries/${failed.delivery_id}/attempts`)).status).toBe(202);
  await until('the redelivery is told of', async () => {
    const again = await explain(broken, given);
    return again.state === 'failed' && again.delivery_id !== failed.delivery_id;
  });
  for (const hook of [well, broken]) await api.call('DELETE', `${hooks}/${hook}`);
});

test('a throttled delivery is explained with its place in the queue, and a paused one with who can resume it', async () => {
  const hook = await api.createHook({ url: receiver.url });
  await api.call('PUT', '/accounts/acme/throttle', { rate: 0.01, burst: 1 });
  const guids: string[] = [];
  for (let count = 0; count < 5; count += 1) guids.push(await producer.publish());
  const last = guids.at(-1)!;
  const throttled = await until('a place in the queue', async () => {
    const explained = await explain(hook, last);
    return explained.state === 'throttled' && explained.until!.place! >= 3 && explained;
  });
  expect(stepsOf(throttled)).toEqual(['occurred', 'taken', 'matched', 'throttled']);
  expect(Date.parse(throttled.until!.at!) - Date.now()).toBeGreaterThan(200_000);
  expect(await get(`${hooks}/${hook}/deliveries/${throttled.delivery_id}/explain`)).toMatchObject({
    state: 'throttled',
    delivery_id: throttled.delivery_id,
  });
  expect(await get(`/accounts/acme/events/${last}/explain`)).toMatchObject({
    state: 'throttled',
    events: [{ deliveries: [{ hook_id: hook, state: 'throttled' }] }],
  });
  await api.call('PUT', `/admin/hooks/${hook}/pause`);
  expect(await explain(hook, last)).toMatchObject({
    state: 'paused',
    until: { at: null },
    next: expect.stringContaining(`/admin/hooks/${hook}/pause`),
  });
  await api.call('DELETE', '/accounts/acme/throttle');
  await api.call('DELETE', `/admin/hooks/${hook}/pause`);
  for (const guid of guids) expect(await inState('delivered', hook, guid)).toBeDefined();
  expect(stepsOf(await explain(hook, last))).toEqual([
    'occurred',
    'taken',
    'matched',
    'throttled',
    'attempt',
    'recorded',
  ]);
  await api.call('DELETE', `${hooks}/${hook}`);
});

test('an event without a delivery is explained, even if it was published twice or could not be read', async () => {
  const hook = await api.createHook({ url: receiver.url });
  const [elsewhere, issues, tags, broken] = [
    await producer.publish({ subject: 'acme/gadgets' }),
    await producer.publish({ type: 'issues' }),
    await producer.publish({ headers: { 'cloudEvents:tagspushed': 4 } }),
    await producer.publish({ body: 'not json' }),
  ];
  await producer.publish({ type: 'issues', id: issues }); // a duplicate
  const never = async (guid: string, cause: string) =>
    until(`${guid} has its cause`, async () => {
      const explained = await explain(hook, guid);
      return explained.state === 'never_made' && causesOf(explained)[0] === cause && explained;
    });
  await never(elsewhere, 'another_place');
  await never(tags, 'too_many_tags');
  expect(causesOf(await never(issues, 'not_subscribed'))).toEqual(['not_subscribed', 'duplicate']);
  expect((await never(broken, 'dead_letter')).causes).toMatchObject([{ reason: 'not_json' }]);
  expect(await get(`/accounts/acme/events/${broken}/explain`)).toMatchObject({
    state: 'never_made',
    dead_letters: [{ reason: 'not_json' }],
  });
  const newer = await api.createHook({ url: `${receiver.url}/newer` }, ['issues']);
  expect(causesOf(await explain(newer, issues))[0]).toBe('hook_newer');
  await api.call('PATCH', `${hooks}/${hook}`, { active: false });
  const inactive = await producer.publish();
  await never(inactive, 'not_active');
  for (const one of [hook, newer]) await api.call('DELETE', `${hooks}/${one}`);
});

test('deliveries to a receiver that hangs are shown as in flight or waiting for it', async () => {
  receiver.behave({ fault: 'hang' });
  const hook = await api.createHook({ url: receiver.url });
  const guids: string[] = [];
  for (let count = 0; count < 12; count += 1) guids.push(await producer.publish());
  const busy = await until('both kinds', async () => {
    const all = await Promise.all(guids.map((guid) => explain(hook, guid)));
    return all.some(({ state }) => state === 'in_flight') && all.find(({ state }) => state === 'receiver_busy');
  });
  expect(stepsOf(busy).at(-1)).toBe('waits');
  expect(Date.parse(busy.until!.at!)).toBeGreaterThan(Date.parse(busy.since));
  expect(busy.next).toContain('answer 2xx at once');
  await system.dispatcher.end('SIGKILL');
});
