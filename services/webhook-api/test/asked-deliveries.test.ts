/** Deliveries that somebody asks for: once more, as a ping, as a test. */
import { jobBodyMaxBytes } from '@gatepost/contracts/delivery-job';
import { type Cuttable, openCuttable } from '@gatepost/testkit/cut';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { call } from './support/api.ts';
import { recordDelivery } from './support/jobs.ts';
import { hooks, openWithHook } from './support/with-hook.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
let database: Cuttable;
const { api, jobs, alice, newHook } = stack.use(
  await openWithHook({}, async (env) => {
    database = stack.use(await openCuttable(env.DATABASE_URL!));
    return { DATABASE_URL: database.url };
  }),
);
let hookId: number;
let deliveries: string;
beforeEach(async () => {
  ({ hookId, deliveries } = await newHook());
});

describe('a redelivery', () => {
  test('is a new delivery of the same event with all its fields', async () => {
    const id = await recordDelivery(api.sql, { hookId, sequence: 5 });
    const { body: original } = await call(api, alice, 'GET', `${deliveries}/${id}`);
    expect(await call(api, alice, 'POST', `${deliveries}/${id}/attempts`)).toMatchObject({ status: 202, body: {} });
    const { job, payload } = await jobs.next(({ job }) => job.redelivery && job.hookId === hookId);
    expect(job).toMatchObject({
      guid: original.guid,
      event: 'push',
      attempt: 1,
      redelivery: true,
      retries: true,
      hookId,
      sequence: 5,
    });
    expect(job.deliveryId).toBeGreaterThan(id);
    expect(payload).toEqual({ ref: 'refs/heads/main' });
    const again = await recordDelivery(api.sql, { hookId, job });
    expect((await call(api, alice, 'GET', `${deliveries}/${again}`)).body).toMatchObject({
      guid: original.guid,
      redelivery: true,
      request: { payload: { ref: 'refs/heads/main' } },
    });
  });

  test('of a large payload takes it from the row of the event', async () => {
    const id = await recordDelivery(api.sql, {
      hookId,
      payload: JSON.stringify({ text: 'x'.repeat(jobBodyMaxBytes) }),
    });
    expect(await call(api, alice, 'POST', `${deliveries}/${id}/attempts`)).toMatchObject({ status: 202 });
    const { payload, job } = await jobs.next(({ job }) => job.redelivery && job.hookId === hookId);
    expect(payload).toBeUndefined();
    expect(job.eventKey).toMatch(/^[0-9a-f-]{36}$/);
  });

  // A few of 25 MB, each read for its size alone, kept all connections busy.
  test('of a large payload does not read it, nor does a test', async () => {
    const id = await recordDelivery(api.sql, {
      hookId,
      payload: JSON.stringify({ text: 'x'.repeat(20 * jobBodyMaxBytes) }),
    });
    const before = database.sentBytes();
    expect(await call(api, alice, 'POST', `${deliveries}/${id}/attempts`)).toMatchObject({ status: 202 });
    expect(await call(api, alice, 'POST', `${hooks}/${hookId}/tests`)).toMatchObject({ status: 204 });
    const pushes = () => jobs.all.filter(({ job }) => job.hookId === hookId && job.event === 'push');
    await jobs.next(() => pushes().length === 2);
    expect(pushes().map(({ payload }) => payload)).toEqual([undefined, undefined]);
    expect(database.sentBytes() - before).toBeLessThan(jobBodyMaxBytes);
  });

  test('needs an active hook, a delivery and a stored payload', async () => {
    const id = await recordDelivery(api.sql, { hookId });
    expect(await call(api, alice, 'POST', `${deliveries}/${id + 1000}/attempts`)).toMatchObject({ status: 404 });
    await call(api, alice, 'PATCH', `${hooks}/${hookId}`, { active: false });
    expect(await call(api, alice, 'POST', `${deliveries}/${id}/attempts`)).toMatchObject({ status: 422 });
    await call(api, alice, 'PATCH', `${hooks}/${hookId}`, { active: true });
    await api.sql.query('UPDATE events SET payload = null');
    expect(await call(api, alice, 'POST', `${deliveries}/${id}/attempts`)).toMatchObject({ status: 422 });
  });
});

describe('a ping', () => {
  test('is sent on creation and on request, whatever the hook’s events, and can be redelivered', async () => {
    await call(api, alice, 'POST', `${hooks}/${hookId}/pings`);
    const own = () => jobs.all.filter(({ job }) => job.hookId === hookId && job.event === 'ping');
    await jobs.next(() => own().length === 2);
    const [first, second] = own();
    expect(first!.job.guid).not.toBe(second!.job.guid);
    expect(second!.job).toMatchObject({ retries: false, redelivery: false, attempt: 1 });
    const { health: _health, ...hook } = (await call(api, alice, 'GET', `${hooks}/${hookId}`)).body;
    expect(second!.payload).toMatchObject({
      zen: expect.any(String),
      hook_id: hookId,
      hook,
      repository: { full_name: 'acme/widgets' },
      sender: { login: 'auth0|alice' },
    });
    expect(JSON.stringify(second!.payload)).not.toContain('"s"');

    const id = await recordDelivery(api.sql, { hookId, job: second!.job });
    expect((await call(api, alice, 'GET', `${deliveries}/${id}`)).body.request.payload).toEqual(second!.payload);
    expect(await call(api, alice, 'POST', `${deliveries}/${id}/attempts`)).toMatchObject({ status: 202 });
    await jobs.next(({ job }) => job.redelivery && job.guid === second!.job.guid);
  });

  test('of an organization hook names the organization', async () => {
    const { body } = await call(api, alice, 'POST', '/orgs/acme/hooks', {
      name: 'web',
      config: { url: 'https://example.com/' },
    });
    const { payload, job } = await jobs.next(({ job }) => job.hookId === body.id);
    expect(payload).toMatchObject({ organization: { login: 'acme' }, hook: { type: 'Organization' } });
    expect(payload).not.toHaveProperty('repository');
    expect(job.repositoryId).toBeNull();
  });

  test('is not sent to a hook that is not active', async () => {
    const { body } = await call(api, alice, 'POST', hooks, {
      config: { url: 'https://example.com/off' },
      active: false,
    });
    expect(await call(api, alice, 'POST', `${hooks}/${body.id}/pings`)).toMatchObject({ status: 204 });
    await call(api, alice, 'POST', `${hooks}/${hookId}/pings`);
    await jobs.next(() => jobs.all.filter(({ job }) => job.hookId === hookId).length === 2);
    expect(jobs.all.filter(({ job }) => job.hookId === body.id)).toEqual([]);
  });
});

describe('a test', () => {
  test('sends the latest push of the repository to that hook alone', async () => {
    await recordDelivery(api.sql, { hookId, payload: '{"after":"older"}' });
    // Moments are kept to the millisecond: both would be of the same one now and then.
    await api.sql.query(`UPDATE events SET received_at = received_at - interval '1 s' WHERE type = 'push'`);
    await recordDelivery(api.sql, { hookId, payload: '{"after":"newer"}' });
    expect(await call(api, alice, 'POST', `${hooks}/${hookId}/tests`)).toMatchObject({ status: 204 });
    const { job, payload } = await jobs.next(({ job }) => job.hookId === hookId && job.event === 'push');
    expect(job).toMatchObject({ retries: false, redelivery: false });
    expect(payload).toEqual({ after: 'newer' });
    // `test_url` leads to the old path.
    expect(await call(api, alice, 'POST', `${hooks}/${hookId}/test`)).toMatchObject({ status: 204 });
    await jobs.next(() => jobs.all.filter(({ job }) => job.hookId === hookId && job.event === 'push').length === 2);
  });

  test('sends nothing to a hook that takes no pushes, or if there was no push', async () => {
    const { body } = await call(api, alice, 'POST', hooks, {
      config: { url: 'https://example.com/i' },
      events: ['issues'],
    });
    expect(await call(api, alice, 'POST', `${hooks}/${hookId}/tests`)).toMatchObject({ status: 204 });
    await recordDelivery(api.sql, { hookId });
    expect(await call(api, alice, 'POST', `${hooks}/${body.id}/tests`)).toMatchObject({ status: 204 });
    await call(api, alice, 'POST', `${hooks}/${hookId}/pings`);
    await jobs.next(() => jobs.all.filter(({ job }) => job.hookId === hookId && job.event === 'ping').length === 2);
    expect(jobs.all.filter(({ job }) => [hookId, body.id].includes(job.hookId) && job.event === 'push')).toEqual([]);
  });
});
