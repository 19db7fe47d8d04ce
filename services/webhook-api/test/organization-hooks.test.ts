import { openLog } from '@gatepost/runtime/log';
import { until } from '@gatepost/testkit/until';
import { listenForChanges } from '@gatepost/webhook-db/changes';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { call, openApi } from './support/api.ts';

const hooks = '/orgs/acme/hooks';
const policy = '/orgs/acme/oauth-app-policy';
const approvals = '/orgs/acme/oauth-app-approvals';
const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const api = stack.use(await openApi());
const alice = await api.tokens.user('auth0|alice', 'admin:org_hook admin:org repo');
const machine = await api.tokens.machine('m2m', 'admin:org_hook');
const app = await api.tokens.app('auth0|alice', 'admin:org_hook admin:org repo', 'app-one');
const otherApp = await api.tokens.app('auth0|alice', 'admin:org_hook', 'app-two');
beforeEach(async () => {
  await api.sql.query(
    'DELETE FROM hooks; DELETE FROM oauth_app_approvals; UPDATE accounts SET oauth_app_restrictions = false',
  );
});

const create = (token: string, url: string, path = hooks) =>
  call(api, token, 'POST', path, { name: 'web', config: { url } });

describe('an organization hook', () => {
  test('has neither a test address nor a last response', async () => {
    const { status, body } = await create(alice, 'https://example.com/');
    expect(status).toBe(201);
    expect(body).toMatchObject({ type: 'Organization', url: `${api.base}${hooks}/${body.id}` });
    expect(body).not.toHaveProperty('test_url');
    expect(body).not.toHaveProperty('last_response');
    expect(await create(alice, 'https://example.com/')).toMatchObject({
      status: 422,
      body: {
        errors: [{ message: 'Hook already exists on this organization' }],
        documentation_url: `${api.base}/docs#operation/orgs/create-webhook`,
      },
    });
  });

  test('is seen by the application that made it, or by users and machines when none did', async () => {
    const { body: users } = await create(alice, 'https://example.com/user');
    const { body: apps } = await create(app, 'https://example.com/app');
    const seen = async (token: string) =>
      (await call(api, token, 'GET', hooks)).body.map(({ id }: { id: number }) => id);
    expect(await seen(alice)).toEqual([users.id]);
    expect(await seen(machine)).toEqual([users.id]);
    expect(await seen(app)).toEqual([apps.id]);
    expect(await seen(otherApp)).toEqual([]);
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['PATCH', '', { active: false }],
      ['GET', '/config', undefined],
      ['PATCH', '/config', { content_type: 'json' }],
      ['GET', '/deliveries', undefined],
      ['POST', '/pings', undefined],
      ['DELETE', '', undefined],
    ] as const) {
      expect(await call(api, otherApp, method, `${hooks}/${apps.id}${path}`, body)).toMatchObject({ status: 404 });
      expect(await call(api, alice, method, `${hooks}/${apps.id}${path}`, body)).toMatchObject({ status: 404 });
    }
    expect(await call(api, app, 'GET', `${hooks}/${apps.id}`)).toMatchObject({ status: 200 });
  });

  test('cannot be reached as a repository’s hook, nor the other way round', async () => {
    const { body: ofOrganization } = await create(alice, 'https://example.com/');
    const { body: ofRepository } = await create(alice, 'https://example.com/', '/repos/acme/widgets/hooks');
    expect(await call(api, alice, 'GET', `/repos/acme/widgets/hooks/${ofOrganization.id}`)).toMatchObject({
      status: 404,
    });
    expect(await call(api, alice, 'GET', `/repos/acme/gadgets/hooks/${ofRepository.id}`)).toMatchObject({
      status: 404,
    });
    expect(await call(api, alice, 'GET', `${hooks}/${ofRepository.id}`)).toMatchObject({ status: 404 });
  });
});

describe('the OAuth app policy', () => {
  test('disables the hooks of an application at once, and they come back when it is approved', async () => {
    const repositoryHooks = '/repos/acme/widgets/hooks';
    const { body: hook } = await create(app, 'https://example.com/', repositoryHooks);
    const { body: paused } = await create(app, 'https://example.com/paused', repositoryHooks);
    await call(api, app, 'PATCH', `${repositoryHooks}/${paused.id}`, { active: false });
    const { body: own } = await create(alice, 'https://example.com/own', repositoryHooks);
    const read = async () => {
      const { body } = await call(api, alice, 'GET', repositoryHooks);
      return body.map(({ active, disabled_reason }: Record<string, unknown>) => [active, disabled_reason]);
    };
    const normal = [
      [true, null],
      [false, null],
      [true, null],
    ];
    expect(await read()).toEqual(normal);

    expect(await call(api, alice, 'PUT', policy, { enabled: true })).toMatchObject({
      status: 200,
      body: { enabled: true },
    });
    const restricted = [
      [false, 'oauth_app_restricted'],
      [false, 'oauth_app_restricted'],
      [true, null],
    ];
    expect(await read()).toEqual(restricted);
    expect(own.disabled_reason).toBeNull();

    expect(await call(api, alice, 'PUT', `${approvals}/app-one`)).toMatchObject({ status: 204 });
    expect(await read()).toEqual(normal);
    expect((await call(api, alice, 'GET', approvals)).body).toMatchObject([{ client_id: 'app-one' }]);

    // Approvals survive the policy's going and coming.
    await call(api, alice, 'PUT', policy, { enabled: false });
    await call(api, alice, 'PUT', policy, { enabled: true });
    expect(await read()).toEqual(normal);

    expect(await call(api, alice, 'DELETE', `${approvals}/app-one`)).toMatchObject({ status: 204 });
    expect(await read()).toEqual(restricted);
    await call(api, alice, 'PUT', policy, { enabled: false });
    expect(await read()).toEqual(normal);
    expect(hook.active).toBe(true);
  });

  test('keeps a restricted application out with GitHub’s text, and lets users and machines in', async () => {
    await call(api, alice, 'PUT', policy, { enabled: true });
    const refused = await call(api, app, 'GET', hooks);
    expect(refused.status).toBe(403);
    expect(refused.body.message).toContain(
      'Although you appear to have the correct authorization credentials, the `acme` organization has enabled OAuth App access restrictions',
    );
    for (const [method, path, body] of [
      ['PUT', policy, { enabled: false }],
      ['PUT', `${approvals}/app-one`, undefined],
      ['GET', '/repos/acme/widgets', undefined],
      ['GET', '/orgs/acme', undefined],
    ] as const)
      expect(await call(api, app, method, path, body)).toMatchObject({ status: 403 });
    expect(await call(api, alice, 'GET', hooks)).toMatchObject({ status: 200 });
    expect(await call(api, machine, 'GET', hooks)).toMatchObject({ status: 200 });
    await call(api, alice, 'PUT', `${approvals}/app-one`);
    expect(await call(api, app, 'GET', hooks)).toMatchObject({ status: 200 });
  });

  test('reaches dispatchers within a second, as does every change of hooks, approvals and limits', async () => {
    const heard: number[] = [];
    await using _changes = await listenForChanges({
      databaseUrl: api.env.DATABASE_URL!,
      pool: api.sql,
      log: openLog('test', 'silent'),
      name: 'test',
      onChange: (accountId) => heard.push(accountId),
      onGap() {},
    });
    const { rows } = await api.sql.query("SELECT id FROM accounts WHERE login = 'acme'");
    const site = await api.tokens.machine('root', 'site_admin');
    const changes: [string, () => Promise<{ status: number }>][] = [
      ['policy', () => call(api, alice, 'PUT', policy, { enabled: true })],
      ['approval', () => call(api, alice, 'PUT', `${approvals}/app-one`)],
      ['hook', () => create(alice, 'https://example.com/')],
      ['limit', () => call(api, site, 'PUT', '/accounts/acme/throttle', { rate: 5, burst: 10 })],
    ];
    for (const [what, act] of changes) {
      heard.length = 0;
      expect((await act()).status).toBeLessThan(300);
      await until(`${what} to be told`, () => heard.includes(rows[0].id));
    }
  });
});
