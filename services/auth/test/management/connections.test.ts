/** Connections to other providers through the `auth0` package, unmodified, and the requests of auth0-deploy-cli. */
import { Browser } from '@gatepost/testkit/browser';
import { afterAll, describe, expect, test } from '@jest/globals';
import { all, openManagement, refusal } from './target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const { gate, auth0, ask, clientOf } = stack.use(await openManagement());
const secret = { client_id: 'ours', client_secret: 'our-secret' };

describe('a connection', () => {
  test.each([
    [
      'oidc',
      {
        ...secret,
        type: 'back_channel',
        discovery_url: 'https://login.acme.example',
        domain_aliases: ['acme.example'],
      },
    ],
    [
      'oauth2',
      {
        ...secret,
        authorizationURL: 'https://a.example/a',
        tokenURL: 'https://a.example/t',
        userInfoURL: 'https://a.example/u',
        scope: 'who',
      },
    ],
    ['google-oauth2', { ...secret, scope: ['email', 'profile'], email: true, profile: true }],
    ['github', { ...secret, scope: ['read:user'], read_user: true }],
    ['windowslive', { ...secret, strategy_version: 2, scope: ['signin'] }],
    [
      'waad',
      {
        ...secret,
        tenant_domain: 'acme.onmicrosoft.com',
        identity_api: 'microsoft-identity-platform-v2.0',
        waad_protocol: 'openid-connect',
      },
    ],
    ['apple', { client_id: 'ours', team_id: 'T', kid: 'K', app_secret: 'PEM', name: true, email: true }],
  ] as const)('of the strategy %s is created, read, changed and deleted by node-auth0', async (strategy, options) => {
    const made = await auth0.connections.create({
      name: `a-${strategy}`,
      strategy,
      options,
      display_name: 'Acme',
      show_as_button: true,
      enabled_clients: ['web'],
    } as never);
    expect(made).toMatchObject({
      strategy,
      options,
      display_name: 'Acme',
      show_as_button: true,
      enabled_clients: ['web'],
    });
    const id = made.id as string;
    expect(await auth0.connections.get(id)).toEqual(made);
    // Secrets are for those who may replace them.
    const shown = (await clientOf('reader').connections.get(id)).options as Record<string, unknown>;
    expect(shown.client_id).toBe('ours');
    expect([shown.client_secret, shown.app_secret]).toEqual([undefined, undefined]);
    const changed = await auth0.connections.update(id, {
      options: { ...options, icon_url: 'https://acme.example/i.svg' },
      display_name: null,
    } as never);
    expect(changed.options).toMatchObject({ ...options, icon_url: 'https://acme.example/i.svg' });
    expect(changed).not.toHaveProperty('display_name');
    expect(await all(await auth0.connections.list({ strategy: [strategy] } as never))).toHaveLength(1);
    await auth0.connections.delete(id);
    await expect(auth0.connections.get(id)).rejects.toEqual(refusal(404));
  });

  test.each([
    ['waad', { ...secret }, 'options.tenant_domain'],
    ['waad', { ...secret, tenant_domain: 'common' }, 'options.allowed_tenants'],
    ['apple', { client_id: 'ours', team_id: 'T' }, 'options.kid'],
    [
      'oauth2',
      {
        ...secret,
        authorizationURL: 'https://a.example/a',
        tokenURL: 'https://a.example/t',
        scripts: { fetchUserProfile: 'function () {}' },
      },
      'options.userInfoURL',
    ],
    ['github', { client_id: 'ours' }, 'options.client_secret'],
    ['samlp', {}, 'strategy'],
  ])('of the strategy %s is refused with the name of the missing option', async (strategy, options, says) => {
    const { status, body } = await ask('POST', 'connections', { name: 'bad', strategy, options });
    expect([status, body.message]).toEqual([400, expect.stringContaining(says)]);
  });
});

// The requests of `a0deploy import` with a connection to a provider, made and then changed (auth0-deploy-cli 8.44.0).
test('auth0-deploy-cli creates a connection to a provider, enables it for applications, and changes it', async () => {
  const options = {
    ...secret,
    type: 'back_channel',
    discovery_url: 'https://login.acme.example/.well-known/openid-configuration',
    scope: 'openid profile email',
    domain_aliases: ['acme.example'],
    attribute_map: { mapping_mode: 'bind_all' },
  };
  const given = { name: 'acme', strategy: 'oidc', display_name: 'Acme', show_as_button: true, options };
  const { status, body: made } = await ask('POST', 'connections', given);
  expect([status, made.options]).toEqual([201, options]);
  const opened = await ask('PATCH', `connections/${made.id}/clients`, [{ client_id: 'web', status: true }]);
  expect(opened.status).toBe(204);
  expect((await ask('GET', 'connections?take=50&strategy=oidc')).body.connections).toMatchObject([{ name: 'acme' }]);
  const { name: _name, strategy: _strategy, ...change } = given;
  const changed = await ask('PATCH', `connections/${made.id}`, { ...change, options: { ...options, scope: 'openid' } });
  expect(changed).toMatchObject({ status: 200, body: { options: { ...options, scope: 'openid' } } });
  await ask('DELETE', `connections/${made.id}`);
});

describe('the applications of a connection', () => {
  const database = 'con_Username-Password-Authentication';
  const request = { client_id: 'spa', redirect_uri: 'https://app.example/cb', response_type: 'token', nonce: 'n' };
  const restore = () => ask('PATCH', `connections/${database}/clients`, [{ client_id: 'spa', status: true }]);

  test('are all applications until one is removed, whose people can then sign in only to the others', async () => {
    const clientsOf = async () =>
      (await ask('GET', `connections/${database}/clients?take=100`)).body.clients.map(
        ({ client_id }: { client_id: string }) => client_id,
      );
    expect(await clientsOf()).toEqual(expect.arrayContaining(['web', 'spa', 'third']));
    const browser = new Browser(gate);
    await browser.logIn(await browser.authorize(request));
    expect((await browser.authorize(request)).status).toBe(302);

    expect((await ask('PATCH', `connections/${database}/clients`, [{ client_id: 'spa', status: false }])).status).toBe(
      204,
    );
    expect(await clientsOf()).toEqual(expect.arrayContaining(['web', 'third']));
    expect(await clientsOf()).not.toContain('spa');
    expect((await auth0.connections.get(database)).enabled_clients).not.toContain('spa');
    expect((await ask('GET', 'clients/spa/connections')).body.connections.map(({ id }: { id: string }) => id)).toEqual([
      'con_email',
      'con_sms',
    ]);
    // Neither by the session that is there, nor by a password, nor by a code to the address of such an account.
    const again = await browser.authorize(request);
    expect(again.status).toBe(200);
    expect((await browser.authorize({ ...request, prompt: 'none' })).location?.hash).toContain('login_required');
    expect((await browser.submit(again, { identifier: 'alice@example.com' })).html).not.toContain('name="password"');
    const signup = await gate.post('dbconnections/signup', {
      client_id: 'spa',
      connection: 'Username-Password-Authentication',
      email: 'eve@example.com',
      password: 'a long enough secret',
    });
    expect(signup).toMatchObject({ status: 400, json: { error_description: 'missing or unknown connection' } });
    // To another application as ever.
    expect((await browser.authorize({ ...request, client_id: 'web', response_type: 'code' })).status).toBe(302);

    await restore();
    expect((await browser.authorize(request)).status).toBe(302);
  });

  test('can also be set by `enabled_clients`, which refuses an unknown application', async () => {
    const made = await auth0.connections.create({ name: 'Few', strategy: 'auth0', enabled_clients: ['web'] });
    expect(made.enabled_clients).toEqual(['web']);
    expect(await ask('PATCH', `connections/${made.id}`, { enabled_clients: ['web', 'spa'] })).toMatchObject({
      body: { enabled_clients: ['spa', 'web'] },
    });
    expect((await ask('PATCH', `connections/${made.id}`, { enabled_clients: ['nobody here'] })).status).toBe(400);
    expect((await ask('PATCH', `connections/${made.id}/clients`, [{ client_id: 'none', status: true }])).status).toBe(
      400,
    );
    await auth0.connections.delete(made.id as string);
  });

  test('stay all, with later ones, when the connection is sent back as it was read', async () => {
    const { id = '' } = await auth0.connections.create({ name: 'Open', strategy: 'auth0' });
    const { body } = await ask('GET', `connections/${id}`);
    expect((await ask('PATCH', `connections/${id}`, body)).body).toEqual(body);
    const { client_id = '' } = await auth0.clients.create({ name: 'Later' });
    expect((await auth0.connections.get(id)).enabled_clients).toEqual([...body.enabled_clients, client_id].toSorted());
    await auth0.clients.delete(client_id);
    await auth0.connections.delete(id);
  });

  test.each(['strategy=email', 'strategy[]=email', 'strategy[0]=email'])(
    'connections are filtered by %s',
    async (query) => {
      expect((await ask('GET', `connections?${query}`)).body).toMatchObject([{ id: 'con_email' }]);
    },
  );
});
