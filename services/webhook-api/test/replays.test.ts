import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { type Api, call, openApi } from './support/api.ts';

let api: Api;
let alice: string;
let hookId: number;
let replays: string;
const hooks = '/repos/acme/widgets/hooks';
const since = new Date(Date.now() - 60_000).toISOString();

beforeAll(async () => {
  api = await openApi();
  alice = await api.tokens.user('auth0|alice', 'repo admin:org_hook');
});
afterAll(async () => {
  await api?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await api.sql.query('DELETE FROM hooks');
  hookId = await createHook(hooks);
  replays = `${hooks}/${hookId}/deliveries/replays`;
});

async function createHook(path: string, url = 'https://example.com/'): Promise<number> {
  const { body } = await call(api, alice, 'POST', path, { name: 'web', config: { url }, events: ['push'] });
  return body.id;
}
const begin = (asked: object, path = replays, token = alice) => call(api, token, 'POST', path, asked);

test('a replay can be started, shown, listed and stopped', async () => {
  const before = Date.now();
  const { status, body } = await begin({ since });
  expect(status).toBe(202);
  expect(body).toEqual({
    id: expect.any(Number),
    hook_id: hookId,
    state: 'counting',
    stopped_because: null,
    since,
    until: expect.any(String),
    status: 'failure',
    events: null,
    total: null,
    done: 0,
    failed: 0,
    created_at: expect.any(String),
    ended_at: null,
    expected_end_at: null,
  });
  expect(Date.parse(body.until)).toBeGreaterThanOrEqual(Math.floor(before / 1_000) * 1_000);
  expect(Date.parse(body.until)).toBeLessThanOrEqual(Date.now());
  expect((await call(api, alice, 'GET', `${replays}/${body.id}`)).body).toEqual(body);

  const asked = Date.now();
  await api.sql.query("UPDATE replays SET state = 'running', counted = 100, started_at = now() - interval '10 s'");
  await api.sql.query('UPDATE replay_outcomes SET done = 50, failed = 2');
  const { body: running } = await call(api, alice, 'GET', `${replays}/${body.id}`);
  expect(running).toMatchObject({ state: 'running', total: 100, done: 50, failed: 2 });
  // 48 are left, and 52 took ten seconds or, on a busy machine, a little more.
  expect(Date.parse(running.expected_end_at) - asked).toBeGreaterThan(5_000);
  expect(Date.parse(running.expected_end_at) - Date.now()).toBeLessThan(20_000);

  expect(await call(api, alice, 'DELETE', `${replays}/${body.id}`)).toMatchObject({ status: 204 });
  expect(await call(api, alice, 'DELETE', `${replays}/${body.id}`)).toMatchObject({ status: 204 });
  const stopped = { state: 'stopped', stopped_because: 'asked', done: 50, expected_end_at: null };
  expect((await call(api, alice, 'GET', `${replays}/${body.id}`)).body).toMatchObject(stopped);

  const { body: second } = await begin({ since, status: 'all' });
  const list = await call(api, alice, 'GET', `${replays}?per_page=1`);
  expect(list.body.map(({ id }: { id: number }) => id)).toEqual([second.id]);
  expect(list.headers.get('link')).toContain(`<${api.base}${replays}?per_page=1&page=2>; rel="next"`);
});

// Its list could not be answered, or had a time that clients cannot read.
test('a replay that stood still for days is shown without an end beyond all calendars', async () => {
  const { body } = await begin({ since });
  for (const counted of [2_000_000, 2_000_000_000]) {
    await api.sql.query(
      "UPDATE replays SET state = 'running', counted = $1, started_at = now() - interval '5 days' WHERE ended_at IS NULL",
      [counted],
    );
    await api.sql.query('UPDATE replay_outcomes SET done = 1');
    const { status, body: shown } = await call(api, alice, 'GET', replays);
    expect({ status, shown }).toMatchObject({ status: 200, shown: [{ id: body.id, expected_end_at: null }] });
  }
});

test('the same request while a replay runs returns that replay, and a different one is refused', async () => {
  const asked = { since, until: new Date().toISOString(), status: 'all', events: ['push', 'issues'] };
  const answers = await Promise.all([
    begin(asked),
    begin(asked),
    begin({ ...asked, events: ['issues', 'push', 'push'] }),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([202, 202, 202]);
  expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
  const other = await begin({ since });
  expect(other).toMatchObject({ status: 409, body: { message: expect.stringContaining(String(answers[0]!.body.id)) } });
  await call(api, alice, 'DELETE', `${replays}/${answers[0]!.body.id}`);
  expect(await begin({ since })).toMatchObject({ status: 202 });
});

test('at most five replays of an account run at once', async () => {
  const paths = [replays];
  for (let index = 1; index < 6; index += 1)
    paths.push(`${hooks}/${await createHook(hooks, `https://example.com/${index}`)}/deliveries/replays`);
  const answers = await Promise.all(paths.map((path) => begin({ since }, path)));
  expect(answers.map(({ status }) => status).sort()).toEqual([202, 202, 202, 202, 202, 422]);
});

const wrong: [what: string, asked: object][] = [
  ['without since', {}],
  ['with a since that is no time', { since: 'yesterday' }],
  ['with a time without an offset', { since: '2026-11-22T10:00:00' }],
  ['with a date that there is not', { since: '2026-02-30T10:00:00Z' }],
  ['with a number', { since: 1_700_000_000 }],
  ['of what is not kept', { since: '2020-01-01T00:00:00Z' }],
  ['of the future', { since: new Date(Date.now() + 3_600_000).toISOString() }],
  [
    'whose whole time is to come',
    { since: new Date(Date.now() + 3_600_000).toISOString(), until: new Date(Date.now() + 7_200_000).toISOString() },
  ],
  ['that ends before it begins', { since, until: new Date(Date.parse(since) - 1).toISOString() }],
  ['of another status', { since, status: 'success' }],
  ['of an unknown event', { since, events: ['nonsense'] }],
  ['of no event', { since, events: [] }],
  ['of too many events', { since, events: Array.from({ length: 251 }, () => 'push') }],
  ['of events that are no list', { since, events: 'push' }],
];
test.each(wrong)('a replay %s is refused', async (_what, asked) => {
  const { status, body } = await begin(asked);
  expect(status).toBe(422);
  expect(body).toMatchObject({ message: expect.any(String), documentation_url: expect.any(String) });
  expect((await call(api, alice, 'GET', replays)).body).toEqual([]);
});

test('a replay of another hook is not found, and an invalid id is refused', async () => {
  const { body } = await begin({ since });
  const other = `${hooks}/${await createHook(hooks, 'https://example.com/other')}/deliveries/replays`;
  for (const method of ['GET', 'DELETE'])
    for (const [path, status] of [
      [`${other}/${body.id}`, 404],
      [`${replays}/${body.id + 1000}`, 404],
      [`${replays}/999999999999999`, 404],
      [`${replays}/9999999999999999`, 422],
      [`${replays}/x`, 422],
      [`${replays}/-1`, 422],
      [`${hooks}/2147483647/deliveries/replays/${body.id}`, 404],
    ] as const)
      expect(await call(api, alice, method, path)).toMatchObject({ status });
  expect((await call(api, alice, 'GET', `${replays}/${body.id}`)).body.state).toBe('counting');
});

test('a hook that is not active cannot be replayed to', async () => {
  await call(api, alice, 'PATCH', `${hooks}/${hookId}`, { active: false });
  expect(await begin({ since })).toMatchObject({ status: 422 });
});

test('reading replays needs the read scope, and starting and stopping them the write scope of an admin', async () => {
  const { body } = await begin({ since });
  const reader = await api.tokens.user('auth0|alice', 'read:repo_hook');
  const writer = await api.tokens.user('auth0|alice', 'write:repo_hook');
  const stranger = await api.tokens.user('auth0|mallory', 'repo');
  expect(await call(api, reader, 'GET', `${replays}/${body.id}`)).toMatchObject({ status: 200 });
  expect(await call(api, reader, 'DELETE', `${replays}/${body.id}`)).toMatchObject({ status: 404 });
  expect(await begin({ since }, replays, reader)).toMatchObject({ status: 404 });
  for (const path of [replays, `${replays}/${body.id}`])
    expect(await call(api, stranger, 'GET', path)).toMatchObject({ status: 404 });
  expect(await begin({ since }, replays, stranger)).toMatchObject({ status: 404 });
  expect(await call(api, writer, 'DELETE', `${replays}/${body.id}`)).toMatchObject({ status: 204 });

  const ofOrg = `/orgs/acme/hooks/${await createHook('/orgs/acme/hooks')}/deliveries/replays`;
  const { status, body: other } = await begin({ since }, ofOrg);
  expect(status).toBe(202);
  expect(await call(api, writer, 'GET', `${ofOrg}/${other.id}`)).toMatchObject({ status: 404 });
  expect(await call(api, alice, 'DELETE', `${ofOrg}/${other.id}`)).toMatchObject({ status: 204 });
});
