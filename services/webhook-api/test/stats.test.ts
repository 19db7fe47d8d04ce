/** Statistics, from rows as the dispatcher writes them; that it does is shown by its own tests. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type Api, call, openApi } from './support/api.ts';

let api: Api;
let alice: string;
let site: string;
let account: number;
let hookId: number;
/** When the test began: it may end in another minute. */
let present: string;
const hooks = '/repos/acme/widgets/hooks';

beforeAll(async () => {
  api = await openApi({ THROTTLE_RATE: '10', THROTTLE_BURST: '20' });
  alice = await api.tokens.user('auth0|alice', 'repo admin:org_hook admin:org');
  site = await api.tokens.machine('operator', 'site_admin');
  const { rows } = await api.sql.query("SELECT id FROM accounts WHERE login = 'acme'");
  account = rows[0].id;
});
afterAll(async () => {
  await api?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await api.sql.query('DELETE FROM hooks; DELETE FROM delivery_stats; DELETE FROM parked');
  const { body } = await call(api, alice, 'POST', hooks, { config: { url: 'https://example.com/' }, active: false });
  hookId = body.id;
  present = new Date().toISOString();
});

type Counted = Partial<
  Record<'delivered' | 'failed' | 'throttled' | 'came_in' | 'waiting' | 'ms_20' | 'ms_1000', number>
>;

/** `ago`: minutes before the present one. */
async function count(
  ago: number,
  of: { account?: number; hook?: number; part?: number },
  counted: Counted,
): Promise<void> {
  await api.sql.query(
    `INSERT INTO delivery_stats (account_id, hook_id, minute, part, ${Object.keys(counted)})
     VALUES (${of.account ?? 0}, ${of.hook ?? 0}, date_trunc('minute', '${present}'::timestamptz) - interval '${ago} minutes', ${of.part ?? 0}, ${Object.values(counted)})`,
  );
}

const park = (reason: string, dueAt: string, hook = hookId) =>
  api.sql.query(
    `INSERT INTO parked (delivery_id, account_id, reason, due_at, event_key, event_on, job)
     VALUES (nextval('delivery_ids'), $1, $2, $3, gen_random_uuid(), now(), $4)`,
    [
      account,
      reason,
      dueAt,
      JSON.stringify({ hookId: hook, occurredAt: '2026-11-22T10:00:00.000Z', throttledAt: null }),
    ],
  );

describe('statistics', () => {
  test('of a hook have every minute of the last hour, summed over all dispatchers', async () => {
    await count(2, { account, hook: hookId, part: 1 }, { delivered: 18, ms_20: 18 });
    await count(2, { account, hook: hookId, part: 7 }, { delivered: 1, failed: 1, throttled: 2, ms_20: 1, ms_1000: 1 });
    await count(61, { account, hook: hookId }, { delivered: 1000 });
    const { status, body } = await call(api, alice, 'GET', `${hooks}/${hookId}/stats?until=${present}`);
    expect(status).toBe(200);
    expect(body.points).toHaveLength(60);
    expect(Date.parse(body.points[0].at)).toBe(Date.parse(body.since));
    const found = body.points.filter(({ delivered }: { delivered: number }) => delivered > 0);
    const counted = {
      delivered: 19,
      failed: 1,
      success_rate: 0.95,
      p50_ms: 15.3,
      p95_ms: 20,
      throttled: 2,
      retried: 0,
      redelivered: 0,
      came_in: null,
    };
    expect(found).toEqual([{ at: expect.any(String), ...counted, waiting: null }]);
    expect(body.total).toEqual(counted);
    const { came_in: _unknown, ...none } = {
      ...counted,
      delivered: 0,
      failed: 0,
      success_rate: null,
      p50_ms: null,
      p95_ms: null,
      throttled: 0,
    };
    expect(body.points[0]).toMatchObject(none);
  });

  test('of an account say what came in, what waits and when the wait will end', async () => {
    await count(1, { account }, { delivered: 5, came_in: 9, waiting: 4 });
    for (const ago of [0, 1]) await count(ago, { part: 32 }, { waiting: 4 });
    for (let index = 0; index < 3; index += 1) await park('throttle', 'infinity');
    await park('retry', '2026-11-30T10:00:00Z');
    const asked = Date.now();
    const { body } = await call(api, site, 'GET', `/accounts/ACME/stats?until=${present}`);
    const shown = body.points
      .slice(-3)
      .map(({ delivered, came_in, waiting }: Record<string, number>) => ({ delivered, came_in, waiting }));
    expect(shown).toEqual([
      { delivered: 0, came_in: 0, waiting: null },
      { delivered: 5, came_in: 9, waiting: 4 },
      { delivered: 0, came_in: 0, waiting: 0 },
    ]);
    expect(body.now).toMatchObject({
      waiting: [
        { reason: 'limit', deliveries: 3, more: false, since: '2026-11-22T10:00:00Z', next_at: null },
        { reason: 'retry', deliveries: 1, more: false, next_at: '2026-11-30T10:00:00Z' },
      ],
      limit: { rate: 10, burst: 20 },
      dispatchers: null,
    });
    expect(Date.parse(body.now.expected_end_at)).toBeGreaterThan(asked - 1_000); // in whole seconds
    // More comes in than goes out.
    await count(2, { account }, { came_in: 100_000 });
    const flooded = await call(api, site, 'GET', `/accounts/acme/stats?until=${present}`);
    expect(flooded.body.now.expected_end_at).toBeNull();
    const own = await call(api, alice, 'GET', `/orgs/acme/stats?until=${present}`);
    expect(own.body.total).toEqual(flooded.body.total);
  });

  test('of a hook count its own waiting deliveries, and not those of other hooks', async () => {
    await park('throttle', 'infinity');
    await park('throttle', 'infinity', hookId + 1);
    await park('again', '2026-11-30T10:00:00Z', hookId + 1);
    const { body } = await call(api, alice, 'GET', `${hooks}/${hookId}/stats`);
    expect(body.now.waiting).toMatchObject([{ reason: 'limit', deliveries: 1 }]);
  });

  test('of the whole site have the live dispatchers, the dead letters, and the waiting deliveries', async () => {
    await count(0, {}, { delivered: 3, failed: 1, came_in: 4 });
    const reasons = {
      throttled: { deliveries: 7, since: '2026-11-22T10:00:00Z' },
      retry: { deliveries: 0, since: null },
    };
    await api.sql.query(
      'INSERT INTO waiting_summary VALUES (1, now(), $1) ON CONFLICT (id) DO UPDATE SET summary = excluded.summary',
      [JSON.stringify({ countedAt: '2026-11-22T10:00:00Z', reasons, accounts: [] })],
    );
    const { body } = await call(api, site, 'GET', '/admin/stats');
    expect(body.total).toMatchObject({ delivered: 3, failed: 1, success_rate: 0.75, came_in: 4 });
    expect(body.now).toEqual({
      waiting: [{ reason: 'limit', deliveries: 7, more: false, since: '2026-11-22T10:00:00Z', next_at: null }],
      dead_letters: 0,
      dispatchers: 0,
      limit: null,
      expected_end_at: null,
    });
  });

  test('come by the hour or by the day, and in a limited number of points', async () => {
    await count(0, {}, { delivered: 1 });
    const hours = await call(api, site, 'GET', '/admin/stats?resolution=hour');
    expect(hours.body.points).toHaveLength(24);
    const since = new Date(Date.parse(present) - 3 * 86_400_000).toISOString();
    const days = await call(api, site, 'GET', `/admin/stats?resolution=day&since=${since}&until=${present}`);
    expect(days.body.points).toHaveLength(4);
    expect(days.body.points[3]).toMatchObject({ at: expect.stringMatching(/T00:00:00Z$/), delivered: 1 });
    for (const query of [
      `since=${since}`,
      'since=yesterday',
      'resolution=week',
      'since=2026-11-22T10:00:00Z&until=2026-11-21T10:00:00Z',
    ])
      expect(await call(api, site, 'GET', `/admin/stats?${query}`)).toMatchObject({ status: 422 });
  });

  test('are only for those who may see the deliveries', async () => {
    const bob = await api.tokens.user('auth0|bob', 'repo admin:org_hook admin:org');
    const olga = await api.tokens.user('auth0|olga', 'repo admin:org_hook admin:org');
    for (const token of [bob, olga])
      for (const path of [
        `${hooks}/${hookId}/stats`,
        '/orgs/acme/stats',
        '/accounts/acme/stats',
        '/admin/stats',
        '/orgs/acme/webhooks',
        '/accounts/acme/webhooks',
      ])
        expect(await call(api, token, 'GET', path)).toMatchObject({ status: 404 });
    expect(await call(api, alice, 'GET', `${hooks}/999/stats`)).toMatchObject({ status: 404 });
    expect(await call(api, alice, 'GET', '/admin/stats')).toMatchObject({ status: 404 });
  });
});

describe('the health of a hook', () => {
  test('is shown in lists and for one hook: its newest delivery and the last 24 hours, in repositories and organizations', async () => {
    const made = await call(api, alice, 'POST', '/orgs/acme/hooks', {
      name: 'web',
      config: { url: 'https://example.com/org' },
      active: false,
    });
    expect(made.body.health).toBeUndefined();
    const { id } = made.body;
    await count(10, { account, hook: id }, { delivered: 2, failed: 1 });
    // In the first hour of a Tuesday it belongs to a week that a new database has no partition of.
    await api.sql.query(`
      DO $$ DECLARE monday date := date_trunc('week', ('${present}'::timestamptz - interval '1500 minutes') AT TIME ZONE 'UTC')::date; BEGIN
        EXECUTE format('CREATE TABLE IF NOT EXISTS delivery_stats_%s PARTITION OF delivery_stats FOR VALUES FROM (%L) TO (%L)',
                       to_char(monday, 'YYYYMMDD'), monday || ' 00:00:00+00', monday + 7 || ' 00:00:00+00');
      END $$`);
    await count(1500, { account, hook: id }, { failed: 50 });
    await api.sql.query(
      `INSERT INTO deliveries (id, delivered_on, delivered_at, hook_id, account_id, guid, event_key, event_on, event, attempt, redelivery, status, status_code,
                               duration_ms, timings, url, request_headers)
       SELECT nextval('delivery_ids'), now(), date_trunc('second', now()), $1, $2, gen_random_uuid(), gen_random_uuid(), now(), 'push', 1, false, 'Timed out', 504, 1, '{}', '', '{}'`,
      [id, account],
    );
    const health = {
      last_status: 'Timed out',
      last_status_code: 504,
      last_delivery_at: expect.stringMatching(/^\d{4}-.*Z$/),
      delivered: 2,
      failed: 1,
      success_rate: 0.6666,
    };
    expect((await call(api, alice, 'GET', '/orgs/acme/hooks')).body[0].health).toEqual(health);
    expect((await call(api, alice, 'GET', `/orgs/acme/hooks/${id}`)).body.health).toEqual(health);
    // Those whose newest delivery failed, and the accounts in which some did.
    const idsOf = async (query: string) =>
      (await call(api, alice, 'GET', `/orgs/acme/webhooks?${query}`)).body.map((hook: { id: number }) => hook.id);
    expect(await idsOf('status=failure')).toEqual([id]);
    expect(await idsOf('status=failure&q=nowhere')).toEqual([]);
    expect(await idsOf('status=success')).toEqual([]);
    await api.sql.query('UPDATE deliveries SET status_code = 302 WHERE hook_id = $1', [id]); // nobody follows it
    expect(await idsOf('status=failure')).toEqual([id]);
    expect(await idsOf('status=success')).toEqual([]);
    await api.sql.query('UPDATE deliveries SET status_code = 504 WHERE hook_id = $1', [id]);
    await count(10, { account }, { delivered: 2, failed: 1 });
    const accounts = (await call(api, site, 'GET', '/admin/organizations')).body;
    expect(accounts.map((each: { login: string; health: object }) => [each.login, each.health])).toContainEqual([
      'acme',
      { delivered: 2, failed: 1, success_rate: 0.6666 },
    ]);
    const [unused] = (await call(api, alice, 'GET', hooks)).body;
    expect(unused.health).toEqual({
      last_status: null,
      last_status_code: null,
      last_delivery_at: null,
      delivered: 0,
      failed: 0,
      success_rate: null,
    });
  });
});

describe('all hooks of an organization', () => {
  test('are listed together with those of its repositories, and found by URL, id and repository', async () => {
    const add = async (path: string, url: string) =>
      (await call(api, alice, 'POST', path, { name: 'web', config: { url }, active: false })).body.id as number;
    const own = await add('/orgs/acme/hooks', 'https://own.example.com/');
    const gadgets = await add('/repos/acme/gadgets/hooks', 'https://gadgets.example.com/');
    const idsAt = async (query: string, token = alice, path = '/orgs/acme/webhooks') =>
      (await call(api, token, 'GET', `${path}${query}`)).body.map(({ id }: { id: number }) => id);
    const { body } = await call(api, alice, 'GET', '/orgs/acme/webhooks');
    expect(body.map(({ id, type, repository }: Record<string, unknown>) => [id, type, repository])).toEqual([
      [hookId, 'Repository', { id: expect.any(Number), name: 'widgets', full_name: 'acme/widgets' }],
      [own, 'Organization', null],
      [gadgets, 'Repository', { id: expect.any(Number), name: 'gadgets', full_name: 'acme/gadgets' }],
    ]);
    expect(body[0].url).toBe(`${api.base}${hooks}/${hookId}`);
    expect(await idsAt('?q=OWN.example')).toEqual([own]);
    expect(await idsAt(`?q=${gadgets}`)).toEqual([gadgets]);
    expect(await idsAt('?repository=Gadgets')).toEqual([gadgets]);
    expect(await idsAt('?q=nowhere')).toEqual([]);
    const first = await call(api, site, 'GET', '/accounts/acme/webhooks?per_page=1&q=example.com');
    expect(first.headers.get('link')).toBe(
      `<${api.base}/accounts/acme/webhooks?per_page=1&q=example.com&page=2>; rel="next", <${api.base}/accounts/acme/webhooks?per_page=1&q=example.com&page=3>; rel="last"`,
    );
    expect(await idsAt('?per_page=2&page=2', site, '/accounts/acme/webhooks')).toEqual([gadgets]);
    // Each scope opens its part, and an OAuth app sees those of the organization that it made.
    expect(await idsAt('', await api.tokens.user('auth0|alice', 'admin:org_hook public_repo'))).toEqual([own]);
    expect(await idsAt('', await api.tokens.user('auth0|alice', 'read:repo_hook'))).toEqual([hookId, gadgets]);
    expect(await idsAt('', await api.tokens.app('auth0|alice', 'repo admin:org_hook', 'an-app'))).toEqual([
      hookId,
      gadgets,
    ]);
    expect(
      await call(api, await api.tokens.user('auth0|alice', 'public_repo'), 'GET', '/orgs/acme/webhooks'),
    ).toMatchObject({ status: 404 });
  });
});
