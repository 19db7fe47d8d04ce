/** Nobody may more than their roles and permissions say, whatever they ask for, where, and through which application. */
import { Browser } from '@gatepost/testkit/browser';
import { pkce } from '@gatepost/testkit/pkce';
import { until } from '@gatepost/testkit/until';
import { afterAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { openGate } from '../gate.ts';
import { managerToken } from '../manager.ts';
import { apiClient, bob, fullSeed, third, web } from '../seeds.ts';

const api = 'https://one.example/';
const other = 'https://other.example/';
const scopes = ['read:x', 'write:x', 'admin:x'];
const redirect_uri = 'https://app.example/cb';
const password = 'correct horse battery staple';
const enforcing = { scopes, enforce_policies: true, token_dialect: 'access_token_authz', allow_offline_access: true };
const managers: Record<string, string[]> = {
  manager: [
    'read:users',
    'create:users',
    'update:users',
    'create:user_tickets',
    'create:authentication_methods',
    'update:authentication_methods',
    'delete:authentication_methods',
    'create:roles',
    'read:roles',
    'update:roles',
    'delete:roles',
    'update:resource_servers',
    'create:connections',
    'update:connections',
    'create:organizations',
    'create:organization_members',
    'create:organization_member_roles',
    'create:organization_invitations',
  ],
};

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const gate = stack.use(
  await openGate((issuer: string) => ({
    ...fullSeed,
    apis: [{ identifier: api, ...enforcing }, { identifier: other, ...enforcing }, ...fullSeed.apis],
    clients: [
      ...fullSeed.clients,
      { ...third, client_id: 'stranger', client_secret: 'stranger-secret' },
      { ...web, client_id: 'team', organization_usage: 'allow' },
      {
        ...apiClient,
        client_id: 'exchanger',
        client_secret: 'exchanger-secret',
        resource_server_identifier: api,
        client_grants: [{ audience: other, scope: scopes }],
      },
      ...Object.entries(managers).map(([client_id, scope]) => ({
        client_id,
        client_secret: `${client_id}-secret`,
        grant_types: ['client_credentials'],
        client_grants: [{ audience: `${issuer}api/v2/`, scope }],
      })),
    ],
    roles: [
      { name: 'Writer', permissions: [{ audience: api, scope: ['read:x', 'write:x'] }] },
      { name: 'Boss', permissions: [{ audience: 'api/v2/' }] },
      { name: 'Clerk', permissions: [{ audience: 'api/v2/', scope: ['read:users'] }] },
    ],
    users: [
      { ...fullSeed.users[0], roles: ['Writer', 'Clerk'] },
      bob,
      { ...bob, user_id: 'auth0|boss', email: 'boss@example.com', phone_number: '+15555550111', roles: ['Boss'] },
    ],
  })),
);
const management = `${gate.issuer}api/v2/`;

type Form = Record<string, string>;

const manager = await managerToken(gate);

async function ask(method: string, path: string, body?: object, token = manager) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const answer = await fetch(management + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  const text = await answer.text();
  return { status: answer.status, body: text ? JSON.parse(text) : undefined };
}

async function authorize(given: Form, email = 'alice@example.com') {
  const { code_verifier, ...challenge } = pkce();
  const request = { client_id: 'spa', redirect_uri, response_type: 'code', ...challenge, ...given };
  const browser = new Browser(gate);
  let page = await browser.authorize(request);
  if (!page.location) page = await browser.logIn(page, email);
  if (!page.location) page = await browser.submit(page, { action: 'default' });
  const answer = Object.fromEntries(page.location!.searchParams) as Form;
  const { client_id } = request;
  const secret = client_id === 'spa' ? {} : { client_secret: `${client_id}-secret` };
  return {
    answer,
    form: { grant_type: 'authorization_code', client_id, redirect_uri, code: answer.code!, code_verifier, ...secret },
  };
}

async function signIn(given: Form, email?: string): Promise<Form> {
  const { form } = await authorize(given, email);
  return (await gate.post('oauth/token', form as Form)).json as Form;
}
const claimsOf = ({ access_token }: Form) => decodeJwt(access_token!) as Record<string, unknown>;
const refresh = async ({ refresh_token }: Form, more: Form = {}): Promise<Form> =>
  (
    await gate.post('oauth/token', {
      grant_type: 'refresh_token',
      client_id: 'spa',
      refresh_token: refresh_token!,
      ...more,
    })
  ).json as Form;
const roleCalled = async (name: string): Promise<string> => (await ask('GET', `roles?name_filter=${name}`)).body[0].id;

describe('a token for an API that enforces its policies', () => {
  test.each(['read:x write:x admin:x', 'admin:x', 'admin:x admin:x openid', 'ADMIN:X'])(
    'has no scope that the person lacks, though %j is requested',
    async (scope) => {
      const tokens = await signIn({ audience: api, scope: `openid ${scope}` });
      expect(String(claimsOf(tokens).scope).split(' ')).not.toContain('admin:x');
      expect(tokens.scope).toBe(claimsOf(tokens).scope);
      expect(claimsOf(tokens).permissions).toEqual(['read:x', 'write:x']);
    },
  );

  test('has no permission of another API with the same scopes, and cannot be exchanged for one', async () => {
    expect(claimsOf(await signIn({ audience: other, scope: 'openid read:x write:x' }))).toMatchObject({
      scope: 'openid',
      permissions: [],
    });
    const { access_token } = await signIn({ audience: api, scope: 'openid read:x write:x' });
    const { json } = await gate.post('oauth/token', {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      client_id: 'exchanger',
      client_secret: 'exchanger-secret',
      subject_token: access_token!,
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      audience: other,
    });
    expect(claimsOf(json as Form)).toMatchObject({ scope: 'openid', permissions: [] });
  });

  test('gives a third-party application only the permissions that the person has consented to', async () => {
    const tokens = await signIn({ client_id: 'stranger', audience: api, scope: 'openid read:x' });
    expect(claimsOf(tokens)).toMatchObject({ scope: 'openid read:x', permissions: ['read:x'] });
  });

  test('loses a role’s scopes once the role is removed, even if a refresh requests them again', async () => {
    const first = await signIn({ audience: api, scope: 'read:x write:x offline_access' });
    const roles = [await roleCalled('Writer')];
    expect((await ask('DELETE', 'users/auth0%7Calice/roles', { roles })).status).toBe(204);
    const second = await refresh(first, { scope: 'read:x write:x offline_access' });
    expect(claimsOf(second)).toMatchObject({ scope: 'offline_access', permissions: [] });
    expect((await ask('POST', 'users/auth0%7Calice/roles', { roles })).status).toBe(204);
    expect(claimsOf(await refresh(second))).toMatchObject({ scope: 'read:x write:x offline_access' });
  });

  test('loses a scope that its API removed and added again, until it is assigned anew', async () => {
    const permissions = [{ resource_server_identifier: other, permission_name: 'admin:x' }];
    expect((await ask('POST', 'users/auth0%7Calice/permissions', { permissions })).status).toBe(201);
    const path = `resource-servers/${encodeURIComponent(other)}`;
    const all = scopes.map((value) => ({ value }));
    await ask('PATCH', path, { scopes: all.slice(0, 2) });
    await ask('PATCH', path, { scopes: all });
    expect(claimsOf(await signIn({ audience: other, scope: 'openid admin:x' }))).toMatchObject({ permissions: [] });
  });
});

describe('the management API', () => {
  test('refuses people with a third-party application, and exchanged tokens', async () => {
    const { answer } = await authorize({ client_id: 'stranger', audience: management, scope: 'read:users' });
    expect(answer).toMatchObject({ error: 'access_denied' });
    const { access_token } = await signIn({ audience: api, scope: 'openid read:x' });
    const { json } = await gate.post('oauth/token', {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      client_id: 'exchanger',
      client_secret: 'exchanger-secret',
      subject_token: access_token!,
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      audience: management,
    });
    expect(json).toMatchObject({ error: 'access_denied' });
  });

  test('refuses a token at once when its permission is removed, its grant ended or its person blocked', async () => {
    const { access_token: token = '' } = await signIn({ audience: management, scope: 'openid read:users' });
    const status = async () => (await ask('GET', 'users', undefined, token)).status;
    expect(await status()).toBe(200);
    const roles = [await roleCalled('Clerk')];
    const clerk = 'users/auth0%7Calice/roles';
    await ask('DELETE', clerk, { roles });
    expect(await status()).toBe(403);
    await ask('POST', clerk, { roles });
    expect(await status()).toBe(200);
    await ask('PATCH', 'users/auth0%7Calice', { blocked: true });
    expect(await status()).toBe(401);
    await ask('PATCH', 'users/auth0%7Calice', { blocked: false });
    expect(await status()).toBe(401); // its grant has ended
  });

  test('lets nobody assign what their own token lacks, by a role, to a person, or by a role for everybody', async () => {
    const permissions = [{ resource_server_identifier: management, permission_name: 'create:client_grants' }];
    const { body: role } = await ask('POST', 'roles', { name: 'Mine' });
    const boss = await roleCalled('Boss');
    const tries: [string, string, object][] = [
      ['POST', `roles/${role.id}/permissions`, { permissions }],
      ['POST', 'users/auth0%7Cbob/permissions', { permissions }],
      ['POST', 'users/auth0%7Cbob/roles', { roles: [role.id, boss] }],
      ['POST', `roles/${boss}/users`, { users: ['auth0|bob'] }],
      ['PATCH', `roles/${boss}`, { is_default: true }],
    ];
    for (const [method, path, body] of tries)
      expect([path, await ask(method, path, body)]).toMatchObject([
        path,
        { status: 403, body: { errorCode: 'insufficient_scope' } },
      ]);
    expect((await ask('GET', 'users/auth0%7Cbob/permissions')).body).toEqual([]);
  });

  test('lets nobody assign what their own token lacks by a membership of an organization, or an invitation into one', async () => {
    const { body: organization } = await ask('POST', 'organizations', { name: 'orchard' });
    const path = `organizations/${organization.id}`;
    expect((await ask('POST', `${path}/members`, { members: ['auth0|bob'] })).status).toBe(204);
    const invitation = { inviter: { name: 'Alice' }, invitee: { email: 'new@example.com' }, client_id: 'team' };
    const tries: [string, object][] = [
      [`${path}/members/auth0%7Cbob/roles`, {}],
      [`${path}/invitations`, invitation],
    ];
    const roles = [await roleCalled('Writer'), await roleCalled('Boss')];
    for (const [where, body] of tries)
      expect([where, await ask('POST', where, { ...body, roles })]).toMatchObject([
        where,
        { status: 403, body: { errorCode: 'insufficient_scope' } },
      ]);
    // A role that gives less than the token may is no problem.
    expect((await ask('POST', tries[0]![0], { roles: [await roleCalled('Clerk')] })).status).toBe(204);
  });

  test('lets nobody take over an account with more permissions by a password, an address, a link or an identity', async () => {
    const boss = 'users/auth0%7Cboss';
    const tries: [string, string, object | undefined][] = [
      ['PATCH', boss, { password: 'another long password' }],
      ['PATCH', boss, { email: 'mine@example.com', email_verified: true }],
      ['PATCH', boss, { phone_number: '+15555550177' }],
      ['POST', `${boss}/identities`, { provider: 'auth0', user_id: 'bob' }],
      ['POST', 'users/auth0%7Cbob/identities', { provider: 'auth0', user_id: 'boss' }],
      ['DELETE', `${boss}/identities/auth0/other`, undefined],
      ['POST', 'tickets/email-verification', { user_id: 'auth0|boss' }],
      ['POST', `${boss}/authentication-methods`, { type: 'totp', totp_secret: 'JBSWY3DPEHPK3PXP' }],
      ['DELETE', `${boss}/authentication-methods`, undefined],
      ['DELETE', `${boss}/multifactor/google-authenticator`, undefined],
      ['POST', `${boss}/recovery-code-regeneration`, undefined],
      ['POST', `${boss}/multifactor/actions/invalidate-remember-browser`, undefined],
      ['POST', 'tickets/password-change', { user_id: 'auth0|boss' }],
      [
        'POST',
        'tickets/password-change',
        { email: 'boss@example.com', connection_id: 'con_Username-Password-Authentication' },
      ],
    ];
    for (const [method, path, body] of tries)
      expect([path, (await ask(method, path, body)).status]).toEqual([path, 403]);
    expect((await ask('PATCH', boss, { nickname: 'chief' })).status).toBe(200);
    expect((await ask('PATCH', 'users/auth0%7Cbob', { password })).status).toBe(200);
  });

  test('lets nobody take from a person what their own token lacks, who would be open to it then', async () => {
    const boss = 'users/auth0%7Cboss';
    const role = await roleCalled('Boss');
    const permissions = [{ resource_server_identifier: management, permission_name: 'create:client_grants' }];
    await gate.pool.query(
      `INSERT INTO auth.user_permissions (user_id, audience, permission) VALUES ('auth0|boss', $1, 'create:client_grants')`,
      [management],
    );
    const before = await ask('GET', `${boss}/permissions`);
    const tries: [string, string, object | undefined][] = [
      ['DELETE', `${boss}/roles`, { roles: [await roleCalled('Writer'), role] }],
      ['DELETE', `${boss}/permissions`, { permissions }],
      ['DELETE', `roles/${role}/permissions`, { permissions }],
      ['DELETE', `roles/${role}`, undefined],
    ];
    for (const [method, path, body] of tries)
      expect([path, await ask(method, path, body)]).toMatchObject([
        path,
        { status: 403, body: { errorCode: 'insufficient_scope' } },
      ]);
    await gate.pool.query('UPDATE auth.roles SET is_default = true WHERE id = $1', [role]);
    expect(await ask('PATCH', `roles/${role}`, { is_default: true, name: 'Boss' })).toMatchObject({ status: 200 });
    expect(await ask('PATCH', `roles/${role}`, { is_default: false })).toMatchObject({ status: 403 });
    await gate.pool.query('UPDATE auth.roles SET is_default = false WHERE id = $1', [role]);
    expect(await ask('GET', `${boss}/permissions`)).toEqual(before);
    // What the token holds itself, and permissions for other APIs, can be taken.
    const own = { resource_server_identifier: management, permission_name: 'read:users' };
    const elsewhere = { resource_server_identifier: api, permission_name: 'admin:x' };
    const taken = { permissions: [own, elsewhere] };
    expect((await ask('DELETE', `${boss}/permissions`, taken)).status).toBe(204);
  });

  test('lets no import update people with more permissions, and updates the others', async () => {
    const mfa_factors = [{ totp: { secret: 'JBSWY3DPEHPK3PXP' } }];
    const people = ['boss', 'bob'].map((name) => ({
      email: `${name}@example.com`,
      email_verified: true,
      name: 'Renamed',
      mfa_factors,
    }));
    const form = new FormData();
    form.append('users', new Blob([JSON.stringify(people)]), 'users.json');
    form.append('connection_id', 'con_Username-Password-Authentication');
    form.append('upsert', 'true');
    const headers = { authorization: `Bearer ${manager}` };
    const begun = await fetch(`${management}jobs/users-imports`, { method: 'POST', headers, body: form });
    const { id } = (await begun.json()) as { id: string };
    const job = await until('the import to end', async () => {
      const { body } = await ask('GET', `jobs/${id}`);
      return body.status === 'pending' ? undefined : body;
    });
    expect(job.summary).toEqual({ failed: 1, inserted: 0, updated: 1, total: 2 });
    const errors = await ask('GET', `jobs/${id}/errors`);
    expect(errors.body).toMatchObject([
      { index: 0, user: { email: 'boss@example.com' }, errors: [{ code: 'INSUFFICIENT_SCOPE' }] },
    ]);
    expect(JSON.stringify(errors.body)).not.toContain('JBSWY');
    expect((await ask('GET', 'users/auth0%7Cboss/authentication-methods')).body).toEqual([]);
    expect((await ask('GET', 'users/auth0%7Cboss')).body.name).not.toBe('Renamed');
    expect((await ask('GET', 'users/auth0%7Cbob/authentication-methods')).body).toMatchObject([{ type: 'totp' }]);
    await ask('DELETE', 'users/auth0%7Cbob/authentication-methods');
  });

  test('lets nobody change who is recognised at a provider with people of more permissions', async () => {
    const options = (host: string) => ({
      issuer: `https://${host}/`,
      authorization_endpoint: `https://${host}/authorize`,
      token_endpoint: `https://${host}/token`,
      jwks_uri: `https://${host}/keys`,
      client_id: 'gate',
      client_secret: 'shared with the provider',
    });
    const { body: made } = await ask('POST', 'connections', {
      name: 'corp',
      strategy: 'oidc',
      options: options('corp.example'),
    });
    const change = (host: string, more: object = {}) =>
      ask('PATCH', `connections/${made.id}`, { options: { ...options(host), ...more } });
    expect((await change('corp2.example')).status).toBe(200);
    await gate.pool.query(`INSERT INTO accounts (user_id, connection) VALUES ('oidc|corp|chief', 'corp')`);
    await gate.pool.query(
      `INSERT INTO user_permissions (user_id, audience, permission) VALUES ('oidc|corp|chief', $1, 'update:client_keys')`,
      [management],
    );
    expect(await change('mine.example')).toMatchObject({ status: 403, body: { errorCode: 'insufficient_scope' } });
    // What was read goes back, and applications are opened and closed as ever.
    expect((await change('corp2.example')).status).toBe(200);
    expect(await ask('PATCH', `connections/${made.id}`, { display_name: 'Corp' })).toMatchObject({
      status: 200,
      body: { options: { issuer: 'https://corp2.example/' } },
    });
  });
});

test('is for machines only as long as nobody has a permission for it', async () => {
  const without = stack.use(await openGate(fullSeed));
  const page = await new Browser(without).authorize({
    client_id: 'spa',
    redirect_uri,
    response_type: 'code',
    scope: 'openid read:users',
    audience: `${without.issuer}api/v2/`,
    ...pkce(),
  });
  expect(Object.fromEntries(page.location!.searchParams)).toMatchObject({ error: 'access_denied' });
});
