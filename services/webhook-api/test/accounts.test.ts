import { once } from 'node:events';
import { request } from 'node:http';
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { call, openApi } from './support/api.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const api = stack.use(await openApi({ THROTTLE_RATE: '7', THROTTLE_BURST: '70' }));
const root = await api.tokens.machine('root', 'site_admin');
const alice = await api.tokens.user('auth0|alice', 'admin:org repo');
const bob = await api.tokens.user('auth0|bob', 'admin:org repo');

describe('an organization', () => {
  test('is created once by the site’s admin, with an admin of its own', async () => {
    const created = await call(api, root, 'POST', '/admin/organizations', { login: 'Initech', admin: 'auth0|peter' });
    expect(created).toMatchObject({ status: 201, body: { login: 'Initech', type: 'Organization' } });
    expect(created.headers.get('location')).toBe(`${api.base}/orgs/Initech`);
    expect(await call(api, root, 'POST', '/admin/organizations', { login: 'INITECH', admin: 'x' })).toMatchObject({
      status: 422,
      body: { errors: [{ resource: 'Organization', code: 'already_exists', field: 'login' }] },
    });
    const peter = await api.tokens.user('auth0|peter', 'admin:org');
    expect(await call(api, peter, 'GET', '/orgs/initech')).toMatchObject({
      status: 200,
      body: { login: 'Initech', permissions: { admin: true } },
    });
    expect(await call(api, alice, 'GET', '/orgs/initech')).toMatchObject({ status: 404 });
    expect(await call(api, alice, 'POST', '/admin/organizations', { login: 'x', admin: 'y' })).toMatchObject({
      status: 404,
    });
  });

  test('has the machine that created it as an admin, alone or beside the admin that it named', async () => {
    const maker = await api.tokens.machine('maker', 'site_admin admin:org_hook admin:org repo');
    for (const body of [{ login: 'made', admin: 'auth0|olga' }, { login: 'made-alone' }]) {
      expect(await call(api, maker, 'POST', '/admin/organizations', body)).toMatchObject({ status: 201 });
      expect(await call(api, maker, 'GET', `/orgs/${body.login}`)).toMatchObject({
        status: 200,
        body: { permissions: { admin: true } },
      });
      expect(await call(api, maker, 'POST', `/orgs/${body.login}/repos`, { name: 'first' })).toMatchObject({
        status: 201,
      });
      const hook = { events: ['push'], config: { url: 'https://example.com/hook' } };
      for (const place of [`/orgs/${body.login}`, `/repos/${body.login}/first`])
        expect(await call(api, maker, 'POST', `${place}/hooks`, { name: 'web', ...hook })).toMatchObject({
          status: 201,
        });
    }
    const olga = await api.tokens.user('auth0|olga', 'admin:org');
    const members = await call(api, olga, 'GET', '/orgs/made/members');
    expect((members.body as unknown as { login: string }[]).map(({ login }) => login).sort()).toEqual([
      'auth0|olga',
      'maker',
    ]);
    expect(await call(api, olga, 'GET', '/orgs/made-alone')).toMatchObject({ status: 404 });
  });

  // The gate grants people any scope of an API that they ask for and consent to; signing up must not make an administrator.
  test('cannot be created by a person, whatever scopes the token has', async () => {
    const person = await api.tokens.user('auth0|mallory', 'site_admin admin:org');
    const body = { login: 'evil', admin: 'auth0|mallory' };
    expect(await call(api, person, 'POST', '/admin/organizations', body)).toMatchObject({ status: 404 });
    expect(await call(api, person, 'GET', '/accounts/acme/throttle')).toMatchObject({ status: 404 });
  });

  test.each([
    [{ login: 'a/b', admin: 'x' }],
    [{ login: '', admin: 'x' }],
    [{ login: '-x', admin: 'x' }],
    [{ login: 'ok', admin: 'a\u0000b' }],
    [{ login: 5, admin: 'x' }],
  ])('cannot be created from %j', async (body) => {
    expect(await call(api, root, 'POST', '/admin/organizations', body)).toMatchObject({ status: 422 });
  });

  test('and its repositories are shown to members, with their permissions', async () => {
    expect(await call(api, bob, 'GET', '/orgs/ACME')).toMatchObject({
      status: 200,
      body: { login: 'acme', permissions: { admin: false, pull: true } },
    });
    expect(await call(api, bob, 'GET', '/repos/Acme/WIDGETS')).toMatchObject({
      status: 200,
      body: { full_name: 'acme/widgets', permissions: { admin: false }, url: `${api.base}/repos/acme/widgets` },
    });
    expect(await call(api, await api.tokens.user('auth0|alice', ''), 'GET', '/repos/acme/widgets')).toMatchObject({
      body: { permissions: { admin: true } },
    });
  });
});

describe('an organization that is deleted meanwhile', () => {
  const waits = (statement: string) =>
    until(`${statement} to wait`, async () => {
      const { rowCount } = await api.sql.query(
        "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE $1",
        [`${statement}%`],
      );
      return rowCount === 1;
    });
  const hook = (url: string) => ({ name: 'web', config: { url: `https://example.com/${url}` } });
  let olga: string;
  let hookId: number;
  beforeEach(async () => {
    olga = await api.tokens.user('auth0|olga', 'admin:org repo admin:org_hook');
    await call(api, root, 'POST', '/admin/organizations', { login: 'brief', admin: 'auth0|olga' });
    await call(api, olga, 'POST', '/orgs/brief/repos', { name: 'notes' });
    hookId = (await call(api, olga, 'POST', '/repos/brief/notes/hooks', hook('first'))).body.id;
  });

  test.each([
    ['PUT', '/orgs/brief/memberships/x', {}],
    ['PUT', '/orgs/brief/oauth-app-approvals/x', undefined],
    ['PUT', '/orgs/brief/oauth-app-policy', { enabled: false }],
    ['POST', '/orgs/brief/hooks', hook('second')],
    ['POST', '/repos/brief/notes/hooks', hook('second')],
    ['POST', '/repos/brief/notes/hooks/ID/deliveries/replays', { since: new Date().toISOString() }],
  ])('is not found (%s %s)', async (method, address, body) => {
    const client = await api.sql.connect();
    try {
      await client.query('BEGIN');
      await client.query("DELETE FROM accounts WHERE login = 'brief'");
      const asked = call(api, olga, method, address.replace('ID', String(hookId)), body);
      await waits('');
      await client.query('COMMIT');
      expect(await asked).toMatchObject({ status: 404 });
    } finally {
      client.release();
    }
  });

  test('gets the hook first that is being created in one of its repositories', async () => {
    const client = await api.sql.connect();
    try {
      await client.query('BEGIN');
      await client.query('LOCK TABLE hooks IN SHARE MODE');
      const creating = call(api, olga, 'POST', '/repos/brief/notes/hooks', hook('second'));
      await waits('INSERT INTO hooks');
      const deleting = call(api, root, 'DELETE', '/admin/organizations/brief');
      await waits('DELETE FROM accounts');
      await client.query('COMMIT');
      expect((await Promise.all([creating, deleting])).map(({ status }) => status)).toEqual([201, 200]);
    } finally {
      client.release();
    }
    expect(await call(api, olga, 'GET', '/repos/brief/notes/hooks')).toMatchObject({ status: 404 });
  });
});

describe('repositories', () => {
  test('are created and listed by admins', async () => {
    const created = await call(api, alice, 'POST', '/orgs/acme/repos', { name: 'Gizmos' });
    expect(created).toMatchObject({ status: 201, body: { full_name: 'acme/Gizmos', permissions: { admin: true } } });
    expect(await call(api, alice, 'POST', '/orgs/acme/repos', { name: 'gizmos' })).toMatchObject({
      status: 422,
      body: {
        message: 'Repository creation failed.',
        errors: [{ resource: 'Repository', field: 'name', message: 'name already exists on this account' }],
      },
    });
    for (const name of ['..', 'a b', 'ä', '', 'x'.repeat(101)])
      expect(await call(api, alice, 'POST', '/orgs/acme/repos', { name })).toMatchObject({ status: 422 });
    const page = await call(api, alice, 'GET', '/orgs/acme/repos?per_page=2');
    expect(page.body.map(({ name }: { name: string }) => name)).toEqual(['widgets', 'gadgets']);
    expect(page.headers.get('link')).toContain('rel="last"');
    expect(await call(api, bob, 'GET', '/orgs/acme/repos')).toMatchObject({ status: 404 });
  });
});

describe('memberships', () => {
  const path = (subject: string) => `/orgs/acme/memberships/${encodeURIComponent(subject)}`;

  test('are set, read and ended by admins', async () => {
    expect(await call(api, alice, 'PUT', path('auth0|carol'), { role: 'admin' })).toMatchObject({
      status: 200,
      body: { state: 'active', role: 'admin', user: { login: 'auth0|carol' }, organization: { login: 'acme' } },
    });
    const carol = await api.tokens.user('auth0|carol', 'admin:repo_hook');
    expect(await call(api, carol, 'GET', '/repos/acme/widgets/hooks')).toMatchObject({ status: 200 });
    expect(await call(api, alice, 'PUT', path('auth0|carol'), {})).toMatchObject({ body: { role: 'member' } });
    expect(await call(api, alice, 'GET', path('auth0|carol'))).toMatchObject({ status: 200, body: { role: 'member' } });
    expect(await call(api, carol, 'GET', '/repos/acme/widgets/hooks')).toMatchObject({ status: 404 });
    expect(await call(api, alice, 'DELETE', path('auth0|carol'))).toMatchObject({ status: 204 });
    expect(await call(api, alice, 'GET', path('auth0|carol'))).toMatchObject({ status: 404 });
    expect(await call(api, alice, 'DELETE', path('auth0|carol'))).toMatchObject({ status: 404 });
    expect(await call(api, bob, 'PUT', path('auth0|bob'), { role: 'admin' })).toMatchObject({ status: 404 });
    expect(await call(api, alice, 'PUT', path('x'), { role: 'owner' })).toMatchObject({ status: 422 });
    expect(await call(api, alice, 'PUT', path('a\u0000b'), {})).toMatchObject({ status: 404 });
  });

  test('never leave an organization without an admin, even when two admins leave at once', async () => {
    const leave = () =>
      Promise.all([call(api, alice, 'DELETE', path('auth0|alice')), call(api, alice, 'DELETE', path('m2m'))]);
    const statuses = (await leave()).map(({ status }) => status).sort();
    // Whoever comes second is no admin any more, or the last one.
    expect(statuses[0]).toBe(204);
    expect([404, 422]).toContain(statuses[1]);
    const { rows } = await api.sql.query(
      "SELECT subject FROM memberships m JOIN accounts a ON a.id = account_id WHERE login = 'acme' AND role = 'admin'",
    );
    expect(rows).toHaveLength(1);
    await api.sql.query(
      `INSERT INTO memberships SELECT id, unnest(ARRAY['auth0|alice', 'm2m']), 'admin' FROM accounts WHERE login = 'acme' ON CONFLICT DO NOTHING`,
    );
  });
});

describe('an admin who is removed', () => {
  const path = (subject: string) => `/orgs/acme/memberships/${encodeURIComponent(subject)}`;
  const own = path('auth0|eve');
  let eve: string;
  beforeAll(async () => {
    eve = await api.tokens.user('auth0|eve', 'admin:org repo admin:org_hook');
  });
  beforeEach(async () => {
    expect(await call(api, alice, 'PUT', own, { role: 'admin' })).toMatchObject({ status: 200 });
  });

  test.each([
    ['PUT', own, '{"role":"admin"}'],
    ['POST', '/orgs/acme/hooks', '{"name":"web","config":{"url":"https://example.com/"}}'],
    ['PUT', '/orgs/acme/oauth-app-policy', '{"enabled":true}'],
  ])('cannot finish %s %s, begun before', async (method, address, body) => {
    const used = async () => (await call(api, eve, 'GET', '/rate_limit')).body.rate.used;
    const usedBefore = await used();
    const { hostname, port } = new URL(api.base);
    const headers = { authorization: `Bearer ${eve}`, 'user-agent': 'test' };
    const sent = request({ hostname, port, path: address, method, headers });
    const answered = once(sent, 'response');
    sent.write(body.slice(0, 5));
    await until('it has arrived', async () => (await used()) > usedBefore);
    expect(await call(api, alice, 'DELETE', own)).toMatchObject({ status: 204 });
    sent.end(body.slice(5));
    const [response] = await answered;
    response.resume();
    expect(response.statusCode).toBe(404);
    expect(await call(api, alice, 'GET', own)).toMatchObject({ status: 404 });
    expect(await call(api, alice, 'GET', '/orgs/acme/oauth-app-policy')).toMatchObject({ body: { enabled: false } });
  });

  test('changes no membership any more, even if the change already waits for its turn', async () => {
    // Of three admins, two remove each other.
    const client = await api.sql.connect();
    let statuses: number[];
    try {
      await client.query("BEGIN; SELECT FROM accounts WHERE login = 'acme' FOR UPDATE");
      const removals = Promise.all([call(api, alice, 'DELETE', own), call(api, eve, 'DELETE', path('auth0|alice'))]);
      await until('both wait', async () => {
        const { rowCount } = await api.sql.query(
          "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
        );
        return rowCount === 2;
      });
      await client.query('COMMIT');
      statuses = (await removals).map(({ status }) => status).sort();
    } finally {
      client.release();
    }
    expect(statuses).toEqual([204, 404]);
    await api.sql.query(
      `INSERT INTO memberships SELECT id, 'auth0|alice', 'admin' FROM accounts WHERE login = 'acme' ON CONFLICT DO NOTHING`,
    );
  });
});

describe('the delivery limit', () => {
  const throttle = '/accounts/acme/throttle';

  test('is the default until the account has its own, and again when that is removed', async () => {
    expect(await call(api, root, 'GET', throttle)).toMatchObject({ status: 200, body: { rate: 7, burst: 70 } });
    expect(await call(api, root, 'PUT', throttle, { rate: 0.5, burst: 3 })).toMatchObject({
      status: 200,
      body: { rate: 0.5, burst: 3 },
    });
    expect(await call(api, root, 'GET', '/accounts/ACME/throttle')).toMatchObject({ body: { rate: 0.5, burst: 3 } });
    expect(await call(api, root, 'DELETE', throttle)).toMatchObject({ status: 204 });
    expect(await call(api, root, 'GET', throttle)).toMatchObject({ body: { rate: 7, burst: 70 } });
    expect(await call(api, root, 'GET', '/accounts/nobody/throttle')).toMatchObject({ status: 404 });
    expect(await call(api, alice, 'GET', throttle)).toMatchObject({ status: 404 });
  });

  test.each([
    [{ rate: 0, burst: 1 }],
    [{ rate: 1, burst: -1 }],
    [{ rate: '5', burst: 1 }],
    [{ rate: 5 }],
    ['{"rate":1e999,"burst":1}'],
    [{ rate: null, burst: 1 }],
  ])('cannot be %j', async (body) => {
    expect(await call(api, root, 'PUT', throttle, body)).toMatchObject({ status: 422 });
  });
});
