import { afterAll, describe, expect, test } from '@jest/globals';
import { call, openApi } from './support/api.ts';
import { recordDelivery } from './support/jobs.ts';

const repo = '/repos/acme/widgets';
const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const api = stack.use(await openApi());
const alice = await api.tokens.user('auth0|alice', 'repo delete_repo');

const create = (body: Record<string, unknown>) => call(api, alice, 'POST', '/orgs/acme/repos', body);
const addHook = (path: string, token = alice) =>
  call(api, token, 'POST', `${path}/hooks`, { config: { url: 'https://example.com/' }, active: false });

describe('a repository', () => {
  test('is returned as it was created', async () => {
    const said = {
      description: 'Gears and more',
      homepage: 'https://gears.example/',
      has_issues: true,
      allow_merge_commit: false,
      squash_merge_commit_title: 'PR_TITLE',
      is_template: true,
    };
    const { status, body } = await create({ name: 'gears', ...said, auto_init: true, team_id: 5, private: true });
    expect(status).toBe(201);
    expect(body).toMatchObject({ ...said, name: 'gears', private: true, visibility: 'private' });
    expect((await call(api, alice, 'GET', '/repos/acme/gears')).body).toEqual(body);
    expect((await call(api, alice, 'GET', '/orgs/acme/repos')).body.at(-1)).toEqual(body);
    expect(body.auto_init).toBeUndefined();
  });

  test('is changed only in the fields of an update, even its name, and keeps its hooks', async () => {
    const { body: before } = await create({ name: 'levers', description: 'Long', has_wiki: true });
    const hook = await addHook('/repos/acme/levers');
    const { status, body } = await call(api, alice, 'PATCH', '/repos/acme/levers', { name: 'Cranks', has_wiki: false });
    expect(status).toBe(200);
    expect(body).toMatchObject({ id: before.id, full_name: 'acme/Cranks', description: 'Long', has_wiki: false });
    expect(await call(api, alice, 'GET', '/repos/acme/levers')).toMatchObject({ status: 404 });
    expect((await call(api, alice, 'GET', '/repos/acme/cranks/hooks')).body).toMatchObject([{ id: hook.body.id }]);
    expect(await call(api, alice, 'PATCH', '/repos/acme/cranks', { name: 'widgets' })).toMatchObject({
      status: 422,
      body: {
        message: 'Validation Failed',
        errors: [
          { resource: 'Repository', code: 'custom', field: 'name', message: 'name already exists on this account' },
        ],
      },
    });
  });

  test('keeps every one of several simultaneous changes', async () => {
    await create({ name: 'knobs' });
    const flags = ['has_issues', 'has_projects', 'has_wiki', 'has_discussions', 'archived', 'is_template'];
    await Promise.all(flags.map((flag) => call(api, alice, 'PATCH', '/repos/acme/knobs', { [flag]: true })));
    const { body } = await call(api, alice, 'GET', '/repos/acme/knobs');
    expect(flags.filter((flag) => !body[flag])).toEqual([]);
  });

  test('is deleted with its hooks but not with its delivery log, and its name is free again', async () => {
    const { body: made } = await create({ name: 'fans' });
    const { body: hook } = await addHook('/repos/acme/fans');
    const delivery = await recordDelivery(api.sql, { hookId: hook.id });
    expect(await call(api, alice, 'DELETE', '/repos/acme/fans')).toMatchObject({ status: 204, body: undefined });
    for (const path of ['/repos/acme/fans', '/repos/acme/fans/hooks', `/repos/acme/fans/hooks/${hook.id}/deliveries`])
      expect(await call(api, alice, 'GET', path)).toMatchObject({ status: 404 });
    expect(await call(api, alice, 'DELETE', '/repos/acme/fans')).toMatchObject({ status: 404 });
    expect((await api.sql.query('SELECT FROM hooks WHERE id = $1', [hook.id])).rowCount).toBe(0);
    expect((await api.sql.query('SELECT FROM deliveries WHERE id = $1', [delivery])).rowCount).toBe(1);
    const again = await create({ name: 'fans' });
    expect(again.body.id).not.toBe(made.id);
    expect((await call(api, alice, 'GET', '/repos/acme/fans/hooks')).body).toEqual([]);
  });

  test('has topics, and never vulnerability alerts', async () => {
    expect(await call(api, alice, 'PUT', `${repo}/topics`, { names: ['tools', 'a-b', 'tools'] })).toMatchObject({
      status: 200,
      body: { names: ['tools', 'a-b'] },
    });
    expect((await call(api, alice, 'GET', `${repo}/topics`)).body).toEqual({ names: ['tools', 'a-b'] });
    expect((await call(api, alice, 'GET', repo)).body.topics).toEqual(['tools', 'a-b']);
    for (const names of [['A'], ['x'.repeat(51)], Array.from({ length: 21 }, (_, index) => `t${index}`), undefined])
      expect(await call(api, alice, 'PUT', `${repo}/topics`, { names })).toMatchObject({ status: 422 });
    for (const [method, status] of [
      ['GET', 404],
      ['DELETE', 204],
      ['PUT', 422],
    ] as const)
      expect(await call(api, alice, method, `${repo}/vulnerability-alerts`)).toMatchObject({ status });
  });

  test.each([
    { description: 'a\u0000b' },
    { description: 'x'.repeat(351) },
    { homepage: 5 },
    { has_issues: 'yes' },
    { visibility: 'secret' },
    { merge_commit_title: 'BLANK' },
    { default_branch: 'a b' },
    { name: '..' },
  ])('cannot be changed with %j', async (body) => {
    expect(await call(api, alice, 'PATCH', repo, body)).toMatchObject({ status: 422 });
    expect(await create({ name: 'odd', ...body })).toMatchObject({ status: 422 });
  });
});

describe('who may', () => {
  const tokens = async (scope: string) => ({
    admin: await api.tokens.user('auth0|alice', scope),
    member: await api.tokens.user('auth0|bob', scope),
    stranger: await api.tokens.user('auth0|olga', scope),
  });

  test('delete a repository: its admins with delete_repo; members are told what is missing, strangers get 404', async () => {
    await create({ name: 'valves' });
    const path = '/repos/acme/valves';
    const [full, less] = [await tokens('repo delete_repo'), await tokens('repo')];
    const refused = { status: 403, body: { message: 'Must have admin rights to Repository.' } };
    expect(await call(api, less.admin, 'DELETE', path)).toMatchObject(refused);
    expect(await call(api, full.member, 'DELETE', path)).toMatchObject(refused);
    expect(await call(api, full.stranger, 'DELETE', path)).toMatchObject({ status: 404 });
    const { status, headers } = await call(api, full.admin, 'DELETE', path);
    expect([status, headers.get('x-accepted-oauth-scopes')]).toEqual([204, 'admin:org, delete_repo, site_admin']);
  });

  test('change a repository: its admins with repo', async () => {
    const [full, less] = [await tokens('repo'), await tokens('admin:repo_hook')];
    for (const token of [less.admin, full.member, full.stranger])
      expect(await call(api, token, 'PATCH', repo, { has_wiki: true })).toMatchObject({ status: 404 });
    expect(await call(api, undefined, 'PATCH', repo, {})).toMatchObject({ status: 401 });
    expect(await call(api, full.admin, 'PATCH', repo, { has_wiki: true })).toMatchObject({ status: 200 });
  });

  test('use public_repo instead of repo: everybody, on public repositories', async () => {
    await create({ name: 'open', private: false });
    await create({ name: 'shut', visibility: 'internal' });
    const { admin, member } = await tokens('public_repo');
    const hook = await addHook('/repos/acme/open', admin);
    expect(hook).toMatchObject({ status: 201 });
    const one = `/repos/acme/open/hooks/${hook.body.id}`;
    for (const path of ['/repos/acme/open/hooks', one, `${one}/config`, `${one}/deliveries`])
      expect(await call(api, admin, 'GET', path)).toMatchObject({ status: 200 });
    expect(await call(api, member, 'GET', '/repos/acme/open/hooks')).toMatchObject({ status: 404 });
    const made = await addHook('/repos/acme/shut');
    const path = `/repos/acme/shut/hooks/${made.body.id}`;
    const delivery = await recordDelivery(api.sql, { hookId: made.body.id });
    for (const [method, closed] of [
      ['GET', '/repos/acme/shut/hooks'],
      ['GET', path],
      ['GET', `${path}/deliveries`],
      ['GET', `${path}/deliveries/${delivery}`],
      ['POST', `${path}/deliveries/${delivery}/attempts`],
      ['POST', `${path}/pings`],
      ['PATCH', '/repos/acme/shut'],
      ['DELETE', path],
    ] as const)
      expect([closed, (await call(api, admin, method, closed)).status]).toEqual([closed, 404]);
    // Closing it again takes effect at once.
    await call(api, alice, 'PATCH', '/repos/acme/open', { private: true });
    expect(await call(api, admin, 'GET', one)).toMatchObject({ status: 404 });
  });

  test('an application that the organization restricts can do nothing with its repositories', async () => {
    await api.sql.query("UPDATE accounts SET oauth_app_restrictions = true WHERE login = 'acme'");
    const app = await api.tokens.app('auth0|alice', 'repo delete_repo', 'some-app');
    for (const [method, path] of [
      ['POST', '/orgs/acme/repos'],
      ['PATCH', repo],
      ['DELETE', repo],
      ['PUT', `${repo}/topics`],
    ])
      expect(await call(api, app, method!, path!, { name: 'x', names: [] })).toMatchObject({ status: 403 });
    await api.sql.query("UPDATE accounts SET oauth_app_restrictions = false WHERE login = 'acme'");
  });
});
