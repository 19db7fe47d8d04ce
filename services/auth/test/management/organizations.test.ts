/** Organizations through the `auth0` package, unmodified. */
import { afterAll, expect, test } from '@jest/globals';
import { all, openManagement, refusal } from './target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const { auth0, clientOf, ask } = stack.use(await openManagement());
const { organizations } = auth0;

test('an organization is created, read by id and by name, changed, listed and deleted', async () => {
  const made = await organizations.create({
    name: 'orchard',
    display_name: 'Orchard Ltd',
    branding: { logo_url: 'https://example.com/logo.png', colors: { primary: '#0059d6', page_background: '#ffffff' } },
    metadata: { plan: 'basic' },
  });
  const id = made.id!;
  expect(made).toEqual({
    id: expect.stringMatching(/^org_\w{16}$/),
    name: 'orchard',
    display_name: 'Orchard Ltd',
    branding: { logo_url: 'https://example.com/logo.png', colors: { primary: '#0059d6', page_background: '#ffffff' } },
    metadata: { plan: 'basic' },
  });
  expect(await organizations.get(id)).toEqual(made);
  expect(await organizations.getByName('orchard')).toEqual(made);
  await expect(organizations.create({ name: 'orchard' })).rejects.toEqual(refusal(409));
  expect(await organizations.update(id, { display_name: 'Orchard', metadata: { team: 'a' } })).toMatchObject({
    display_name: 'Orchard',
    metadata: { team: 'a' },
  });
  await organizations.create({ name: 'mill' });
  expect((await all(await organizations.list())).map(({ name }) => name).toSorted()).toEqual(['mill', 'orchard']);
  expect(await all(await organizations.list({ take: 1 }))).toHaveLength(2);
  await organizations.delete(id);
  await expect(organizations.get(id)).rejects.toEqual(refusal(404, 'inexistent_organization'));
});

test('an organization may be sent with Auth0’s fields for what it lacks, and with no other value of them', async () => {
  const lacks = { third_party_client_access: 'allow', is_app_entitlement_active: false } as const;
  const { id = '' } = await organizations.create({ name: 'plain', ...lacks });
  expect(await organizations.update(id, { ...lacks, token_quota: null })).toMatchObject({ id, name: 'plain' });
  for (const [field, value] of [
    ['third_party_client_access', 'block'],
    ['is_app_entitlement_active', true],
    ['token_quota', { client_credentials: { enforce: true, per_day: 1 } }],
  ] as const)
    expect(await ask('PATCH', `organizations/${id}`, { [field]: value })).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining(field) },
    });
  await organizations.delete(id);
});

test('an organization’s metadata are replaced as a whole, and stay while a change does not name them', async () => {
  const { id = '' } = await organizations.create({ name: 'busy', metadata: { plan: 'basic', seats: '5' } });
  expect(await organizations.update(id, { display_name: 'Busy' })).toMatchObject({
    metadata: { plan: 'basic', seats: '5' },
  });
  expect((await organizations.update(id, { metadata: { plan: 'gold' } })).metadata).toEqual({ plan: 'gold' });
  expect(await organizations.update(id, { metadata: {} })).not.toHaveProperty('metadata');
  await organizations.delete(id);
});

test('an organization has members with roles, and connections', async () => {
  const { id = '' } = await organizations.create({ name: 'guild' });
  const { id: role = '' } = await auth0.roles.create({ name: 'Editor' });
  await organizations.members.create(id, { members: ['auth0|alice', 'auth0|bob'] });
  expect(await all(await organizations.members.list(id))).toEqual([
    { user_id: 'auth0|alice', name: 'Alice Example', email: 'alice@example.com' },
    { user_id: 'auth0|bob', name: 'Bob', email: 'bob@example.com' },
  ]);
  await organizations.members.roles.assign(id, 'auth0|bob', { roles: [role] });
  expect(await all(await organizations.members.roles.list(id, 'auth0|bob'))).toEqual([{ id: role, name: 'Editor' }]);
  expect(await all(await organizations.members.list(id, { fields: 'user_id,roles', include_fields: true }))).toEqual([
    { user_id: 'auth0|alice', roles: [] },
    { user_id: 'auth0|bob', roles: [{ id: role, name: 'Editor' }] },
  ]);
  await organizations.members.roles.delete(id, 'auth0|bob', { roles: [role] });
  expect(await all(await auth0.users.organizations.list('auth0|bob'))).toMatchObject([{ id, name: 'guild' }]);
  await organizations.members.delete(id, { members: ['auth0|bob'] });
  expect(await all(await auth0.users.organizations.list('auth0|bob'))).toEqual([]);

  const email = { connection_id: 'con_email', connection: { name: 'email', strategy: 'email' } };
  const options = { assign_membership_on_login: false, show_as_button: true, is_signup_enabled: false };
  expect(await organizations.enabledConnections.add(id, { connection_id: 'con_email' })).toEqual({
    ...email,
    ...options,
  });
  await expect(organizations.enabledConnections.add(id, { connection_id: 'con_email' })).rejects.toEqual(refusal(409));
  const changed = { ...email, ...options, assign_membership_on_login: true };
  expect(await organizations.enabledConnections.update(id, 'con_email', { assign_membership_on_login: true })).toEqual(
    changed,
  );
  expect(await organizations.enabledConnections.get(id, 'con_email')).toEqual(changed);
  expect(await all(await organizations.enabledConnections.list(id))).toEqual([changed]);
  // Newer tools know them by another path, auth0-deploy-cli 8.44.0 among them.
  expect((await ask('GET', `organizations/${id}/connections`)).body).toEqual([changed]);
  expect(await all(await organizations.connections.list(id, { is_enabled: true }))).toEqual([changed]);
  expect(await all(await organizations.connections.list(id, { is_enabled: false }))).toEqual([]);
  expect((await ask('DELETE', `organizations/${id}/connections/con_email`)).status).toBe(204);
  const body = { connection_id: 'con_email', show_as_button: false };
  expect((await ask('POST', `organizations/${id}/connections`, body)).body).toMatchObject(body);
  await organizations.enabledConnections.delete(id, 'con_email');
  expect(await all(await organizations.enabledConnections.list(id))).toEqual([]);
});

test('an unknown or invalid member, role or connection of an organization is refused', async () => {
  const { id = '' } = await organizations.create({ name: 'empty' });
  const email = { connection_id: 'con_email' };
  const refused: [Promise<unknown>, unknown][] = [
    [organizations.create({ name: 'No Name' }), refusal(400, 'invalid_body')],
    [organizations.create({ name: 'org_0123456789abcdef' }), refusal(400, 'invalid_body')],
    [
      organizations.create({ name: 'x', enabled_connections: [{ connection_id: 'con_none' }] }),
      refusal(404, 'inexistent_connection'),
    ],
    [
      organizations.create({ name: 'x', enabled_connections: [email, { ...email, show_as_button: false }] }),
      refusal(400, 'invalid_body'),
    ],
    [organizations.getByName('none'), refusal(404, 'inexistent_organization')],
    [organizations.members.create(id, { members: ['auth0|nobody'] }), refusal(404, 'inexistent_user')],
    [organizations.members.roles.list(id, 'auth0|bob'), refusal(404, 'inexistent_organization_member')],
    [organizations.members.create('org_none', { members: ['auth0|bob'] }), refusal(404, 'inexistent_organization')],
    [organizations.enabledConnections.get(id, 'con_email'), refusal(404, 'inexistent_connection')],
    [clientOf('editor').organizations.list(), refusal(403, 'insufficient_scope')],
  ];
  for (const [asking, expected] of refused) await expect(asking).rejects.toEqual(expected);
  expect((await ask('GET', 'organizations?include_totals=true&take=50')).body.organizations).not.toEqual([]);
});
