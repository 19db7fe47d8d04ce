/** What clients ask before anything else: is the token good, whose is it, where are things, who belongs where. */
import { afterAll, describe, expect, test } from '@jest/globals';
import { Octokit } from '@octokit/rest';
import { call, openApi } from './support/api.ts';
import { checkedFetch } from './support/conformance.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const api = stack.use(await openApi());
const alice = await api.tokens.user('auth0|alice', 'repo admin:org');
const bob = await api.tokens.user('auth0|bob', 'read:org');
const olga = await api.tokens.user('auth0|olga', 'repo read:org');
const app = await api.tokens.app('auth0|alice', 'repo read:org', 'some-app');

const restrict = (on: boolean) =>
  api.sql.query("UPDATE accounts SET oauth_app_restrictions = $1 WHERE login = 'acme'", [on]);

describe('the root', () => {
  test.each(['/', '/api/v3', '/api/v3/'])('lists links at %s, and for a token its scopes', async (path) => {
    const base = `${api.base}${path.replace(/\/$/, '')}`;
    const open = await call(api, undefined, 'GET', path);
    expect(open).toMatchObject({
      status: 200,
      body: { user_url: `${base}/users/{user}`, current_user_url: `${base}/user` },
    });
    const asked = await call(api, alice, 'GET', path);
    expect(asked.headers.get('x-oauth-scopes')).toBe('admin:org, repo');
    expect(await call(api, 'x.y.z', 'GET', path)).toMatchObject({
      status: 401,
      body: { message: 'Bad credentials' },
    });
  });
});

describe('the root in a browser', () => {
  const browser = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };

  test('is a page that says what this is, where to go on, and which services answer', async () => {
    const answer = await fetch(`${api.base}/`, { headers: browser });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(answer.headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'sha256-/);
    expect(answer.headers.get('vary')).toContain('Accept');
    const html = await answer.text();
    for (const [, href] of html.matchAll(/href="([^"]+)"/g))
      if (href!.startsWith(api.base)) expect([href, (await fetch(href!)).status]).toEqual([href, 200]);
    expect(html.match(/<dd>answers<\/dd>/g)).toHaveLength(3);
    expect(html).not.toContain('does not answer');
  });

  test.each([
    ['asks for anything', { accept: '*/*' }],
    ['asks as GitHub has it', { accept: 'application/vnd.github+json' }],
    ['asks for nothing in particular', {}],
    ['has a token', { ...browser, authorization: 'Bearer x.y.z' }],
  ])('is GitHub’s JSON for a client that %s', async (_, headers) => {
    const answer = await fetch(`${api.base}/`, { headers });
    expect(answer.headers.get('content-type')).toContain('json');
  });
});

test.each(['/zen', '/octocat', '/api/v3/zen'])('a sentence for people is at %s, without a token', async (path) => {
  const answer = await checkedFetch(`${api.base}${path}`);
  expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8');
  expect([answer.status, await answer.text()]).toEqual([200, expect.stringMatching(/^[A-Z].*\.$/)]);
});

describe('the caller', () => {
  test('is shown as a user if it is a person, and as a bot if it is a machine', async () => {
    expect(await call(api, alice, 'GET', '/user')).toMatchObject({
      status: 200,
      body: { login: 'auth0|alice', type: 'User', url: `${api.base}/users/auth0%7Calice` },
    });
    expect((await call(api, await api.tokens.machine('m2m', ''), 'GET', '/user')).body).toMatchObject({
      login: 'm2m',
      type: 'Bot',
    });
    expect(await call(api, undefined, 'GET', '/user')).toMatchObject({ status: 401 });
    const nobody = await api.tokens.user('auth0|nobody', '');
    expect(await call(api, nobody, 'GET', '/user')).toMatchObject({ status: 200, body: { login: 'auth0|nobody' } });
    expect((await call(api, nobody, 'GET', '/users/auth0%7Cnobody')).body).toEqual(
      (await call(api, nobody, 'GET', '/user')).body,
    );
  });

  // `gh auth login --with-token` and `gh auth status` send exactly this.
  test('is the only thing that GraphQL answers', async () => {
    const ask = (query: unknown, token: string | undefined = alice) =>
      call(api, token, 'POST', '/api/graphql', { query });
    expect(await ask('query UserCurrent{viewer{login}}')).toMatchObject({
      status: 200,
      body: { data: { viewer: { login: 'auth0|alice' } } },
    });
    expect(await ask('{ viewer { login } }')).toMatchObject({ body: { data: { viewer: { login: 'auth0|alice' } } } });
    expect((await ask('{viewer{email}}')).body).toEqual({
      errors: [{ type: 'undefinedField', message: expect.any(String) }],
    });
    expect(await ask(5)).toMatchObject({ status: 422 });
    expect(await call(api, undefined, 'POST', '/api/graphql', { query: '{viewer{login}}' })).toMatchObject({
      status: 401,
    });
  });

  test.each(['', '/api/v3'])('is told to Octokit by GraphQL, whose base URL ends in "%s"', async (prefix) => {
    const octokit = new Octokit({ baseUrl: api.base + prefix, auth: alice, request: { fetch: checkedFetch } });
    expect(await octokit.graphql('{ viewer { login } }')).toEqual({ viewer: { login: 'auth0|alice' } });
  });

  test('sees their memberships, with read:org', async () => {
    const { status, body, headers } = await call(api, alice, 'GET', '/user/memberships/orgs');
    expect(status).toBe(200);
    expect(body).toMatchObject([
      { role: 'admin', state: 'active', organization: { login: 'acme' }, user: { login: 'auth0|alice' } },
    ]);
    expect(headers.get('x-accepted-oauth-scopes')).toBe('admin:org, read:org, site_admin');
    expect((await call(api, bob, 'GET', '/user/memberships/orgs?state=active')).body).toMatchObject([
      { role: 'member' },
    ]);
    expect((await call(api, alice, 'GET', '/user/memberships/orgs?state=pending')).body).toEqual([]);
    expect((await call(api, alice, 'GET', '/user/memberships/orgs?page=2')).body).toEqual([]);
    expect(await call(api, bob, 'GET', '/user/memberships/orgs/ACME')).toMatchObject({
      status: 200,
      body: { role: 'member', organization: { login: 'acme' }, user: { login: 'auth0|bob' } },
    });
    expect(await call(api, bob, 'GET', '/user/memberships/orgs/other')).toMatchObject({ status: 404 });
    const without = await api.tokens.user('auth0|alice', 'repo');
    for (const path of ['/user/memberships/orgs', '/user/memberships/orgs/acme'])
      expect(await call(api, without, 'GET', path)).toMatchObject({ status: 404 });
  });

  test('sees their organizations, with read:org', async () => {
    const { body } = await call(api, bob, 'GET', '/user/orgs');
    expect(body).toMatchObject([{ login: 'acme', url: `${api.base}/orgs/acme` }]);
    expect((await call(api, bob, 'GET', '/user/orgs?page=2')).body).toEqual([]);
    expect((await call(api, await api.tokens.user('auth0|nobody', 'read:org'), 'GET', '/user/orgs')).body).toEqual([]);
    const without = await api.tokens.user('auth0|bob', 'repo');
    expect(await call(api, without, 'GET', '/user/orgs')).toMatchObject({ status: 404 });
  });
});

describe('a user', () => {
  // Terraform's provider asks for the owner that it is told, before anything else.
  test('is shown as an organization to its members', async () => {
    expect(await call(api, bob, 'GET', '/users/ACME')).toMatchObject({
      status: 200,
      body: { login: 'acme', type: 'Organization' },
    });
    expect(await call(api, olga, 'GET', '/users/acme')).toMatchObject({ status: 404 });
    expect(await call(api, undefined, 'GET', '/users/acme')).toMatchObject({ status: 401 });
  });

  test('is shown as a person or a machine to those who share an organization with it', async () => {
    expect((await call(api, bob, 'GET', '/users/auth0%7Calice')).body).toMatchObject({
      login: 'auth0|alice',
      type: 'User',
    });
    expect((await call(api, bob, 'GET', '/users/m2m')).body).toMatchObject({ login: 'm2m', type: 'Bot' });
    for (const login of ['auth0%7Calice', 'nobody', '%00', '%20'])
      expect([login, (await call(api, olga, 'GET', `/users/${login}`)).status]).toEqual([login, 404]);
  });
});

describe('members', () => {
  const logins = async (token: string, query = '') =>
    (await call(api, token, 'GET', `/orgs/acme/members${query}`)).body.map(({ login }: { login: string }) => login);

  test('are listed for members, all or by role, page by page', async () => {
    expect(await logins(bob)).toEqual(['auth0|alice', 'auth0|bob', 'm2m']);
    expect(await logins(bob, '?role=admin')).toEqual(['auth0|alice', 'm2m']);
    expect(await logins(bob, '?role=all&per_page=1&page=2')).toEqual(['auth0|bob']);
    expect((await call(api, bob, 'GET', '/orgs/acme/members?per_page=1')).headers.get('link')).toContain('rel="next"');
    expect(await call(api, bob, 'GET', '/orgs/acme/members?role=owner')).toMatchObject({ status: 422 });
  });

  test('are told from others for members', async () => {
    const statusOf = async (login: string) => (await call(api, bob, 'GET', `/orgs/acme/members/${login}`)).status;
    for (const login of ['auth0%7Calice', 'auth0%7Cbob', 'm2m'])
      expect([login, await statusOf(login)]).toEqual([login, 204]);
    for (const login of ['auth0%7Colga', 'nobody', '%00']) expect([login, await statusOf(login)]).toEqual([login, 404]);
  });

  test('are not shown to strangers, nor without read:org', async () => {
    const without = await api.tokens.user('auth0|bob', 'repo');
    for (const path of ['/orgs/acme/members', '/orgs/acme/members/auth0%7Cbob'])
      for (const token of [olga, without]) expect(await call(api, token, 'GET', path)).toMatchObject({ status: 404 });
  });
});

describe('what somebody may do in a repository', () => {
  const ask = (token: string, login: string) =>
    call(api, token, 'GET', `/repos/acme/widgets/collaborators/${login}/permission`);

  test.each([
    ['auth0|alice', 'admin', { admin: true, maintain: true, push: true, triage: true, pull: true }],
    ['auth0|bob', 'read', { admin: false, maintain: false, push: false, triage: false, pull: true }],
    ['auth0|olga', 'none', { admin: false, maintain: false, push: false, triage: false, pull: false }],
  ])('is told to members: %s has %s', async (login, permission, permissions) => {
    expect(await ask(bob, encodeURIComponent(login))).toMatchObject({
      status: 200,
      body: { permission, role_name: permission, user: { login, role_name: permission, permissions } },
    });
  });

  test('is not told to strangers, nor without repo or read:org', async () => {
    const without = await api.tokens.user('auth0|bob', 'read:repo_hook');
    for (const token of [olga, without]) expect(await ask(token, 'auth0%7Cbob')).toMatchObject({ status: 404 });
    expect(await ask(await api.tokens.user('auth0|bob', 'repo'), 'auth0%7Cbob')).toMatchObject({ status: 200 });
    expect(await ask(bob, '%00')).toMatchObject({ status: 404 });
  });
});

describe('a numeric id', () => {
  test('leads members to its repository or organization', async () => {
    for (const path of ['/repos/acme/widgets', '/orgs/acme']) {
      const { body } = await call(api, bob, 'GET', path);
      const byId = `/${path.startsWith('/repos') ? 'repositories' : 'organizations'}/${body.id}`;
      expect((await call(api, bob, 'GET', byId)).body).toEqual(body);
      expect(await call(api, olga, 'GET', byId)).toMatchObject({ status: 404 });
      expect(await call(api, undefined, 'GET', byId)).toMatchObject({ status: 401 });
    }
    for (const id of ['0', '-1', 'x', '2147483648', '99999', '1.5'])
      for (const kind of ['repositories', 'organizations'])
        expect([id, (await call(api, bob, 'GET', `/${kind}/${id}`)).status]).toEqual([id, 404]);
  });
});

test('an application that the organization restricts learns nothing about it or its members', async () => {
  const { body } = await call(api, alice, 'GET', '/repos/acme/widgets');
  await restrict(true);
  for (const path of [
    '/users/acme',
    '/orgs/acme/members',
    '/orgs/acme/members/auth0%7Cbob',
    '/user/memberships/orgs/acme',
    '/repos/acme/widgets/collaborators/auth0%7Cbob/permission',
    `/repositories/${body.id}`,
    `/organizations/${body.owner.id}`,
  ])
    expect([path, (await call(api, app, 'GET', path)).status]).toEqual([path, 403]);
  expect(await call(api, app, 'GET', '/users/auth0%7Cbob')).toMatchObject({ status: 404 });
  for (const path of ['/user/memberships/orgs', '/user/orgs'])
    expect((await call(api, app, 'GET', path)).body).toEqual([]);
  expect((await call(api, alice, 'GET', '/user/memberships/orgs')).body).toHaveLength(1);
  await restrict(false);
  expect((await call(api, app, 'GET', '/user/memberships/orgs')).body).toHaveLength(1);
});
