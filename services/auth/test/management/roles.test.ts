/** Roles and permissions through the `auth0` package, unmodified. */
import { afterAll, expect, test } from '@jest/globals';
import { api } from '../seeds.ts';
import { all, openManagement, refusal } from './target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const { audience, auth0, clientOf, ask } = stack.use(await openManagement());
const permission = (permission_name: string, resource_server_identifier = api) => ({
  resource_server_identifier,
  permission_name,
});

test('a role is created, read, changed, found by a part of its name, and deleted', async () => {
  const role = await auth0.roles.create({ name: 'Editor', description: 'Writes notes' });
  expect(role).toEqual({ id: expect.stringMatching(/^rol_\w{16}$/), name: 'Editor', description: 'Writes notes' });
  const id = role.id!;
  await expect(auth0.roles.create({ name: 'Editor' })).rejects.toEqual(refusal(409));
  expect(await auth0.roles.get(id)).toEqual(role);
  expect(await auth0.roles.update(id, { description: 'Reads notes' })).toEqual({ ...role, description: 'Reads notes' });
  const other = await auth0.roles.create({ name: 'Auditor' });
  expect(other).toEqual({ id: other.id, name: 'Auditor' });
  expect((await all(await auth0.roles.list())).map(({ name }) => name)).toEqual(['Auditor', 'Editor']);
  expect(await all(await auth0.roles.list({ name_filter: 'edit' }))).toHaveLength(1);
  expect(await all(await auth0.roles.list({ per_page: 1 }))).toHaveLength(2);
  expect((await ask('GET', 'roles?per_page=1&page=1&include_totals=true')).body).toMatchObject({
    start: 1,
    limit: 1,
    length: 1,
    total: 2,
    roles: [{ name: 'Editor' }],
  });
  const named = await auth0.roles.create({ name: 'read_all 100%\\' });
  const found = async (name_filter: string) =>
    (await all(await auth0.roles.list({ name_filter }))).map(({ name }) => name);
  for (const part of ['_', '%', '\\', 'd_a', '100%']) expect([part, await found(part)]).toEqual([part, [named.name]]);
  expect(await found('E_i')).toEqual([]);
  for (const { id } of [role, other, named]) await auth0.roles.delete(id!);
  await expect(auth0.roles.get(id)).rejects.toEqual(refusal(404, 'inexistent_role'));
});

test('a role has permissions, and people have the role', async () => {
  const { id = '' } = await auth0.roles.create({ name: 'Writer' });
  await auth0.roles.permissions.add(id, { permissions: [permission('read:x'), permission('write:x')] });
  await auth0.roles.permissions.add(id, { permissions: [permission('read:x')] });
  const read = { ...permission('read:x'), resource_server_name: 'Example API' };
  expect(await all(await auth0.roles.permissions.list(id))).toEqual([
    read,
    { ...permission('write:x'), resource_server_name: 'Example API' },
  ]);
  await auth0.roles.permissions.delete(id, { permissions: [permission('write:x')] });
  expect(await all(await auth0.roles.permissions.list(id))).toEqual([read]);

  await auth0.roles.users.assign(id, { users: ['auth0|alice', 'auth0|bob'] });
  expect(await all(await auth0.roles.users.list(id))).toEqual([
    { user_id: 'auth0|alice', name: 'Alice Example', email: 'alice@example.com' },
    { user_id: 'auth0|bob', name: 'Bob', email: 'bob@example.com' },
  ]);
  expect(await all(await auth0.roles.users.list(id, { take: 1 }))).toHaveLength(2);
  expect(await all(await auth0.users.roles.list('auth0|bob'))).toEqual([{ id, name: 'Writer' }]);
  await auth0.users.roles.delete('auth0|bob', { roles: [id] });
  expect(await all(await auth0.users.roles.list('auth0|bob'))).toEqual([]);
  await auth0.users.roles.assign('auth0|bob', { roles: [id] });

  await auth0.users.permissions.create('auth0|bob', { permissions: [permission('read:x'), permission('admin:x')] });
  const source = (source_type: string, source_id = '', source_name = '') => ({ source_id, source_name, source_type });
  expect((await ask('GET', 'users/auth0%7Cbob/permissions')).body).toEqual([
    { ...permission('admin:x'), resource_server_name: 'Example API', sources: [source('DIRECT')] },
    { ...read, sources: [source('DIRECT'), source('ROLE', id, 'Writer')] },
  ]);
  await auth0.users.permissions.delete('auth0|bob', { permissions: [permission('admin:x'), permission('read:x')] });
  expect(await all(await auth0.users.permissions.list('auth0|bob'))).toMatchObject([read]);
  await auth0.roles.delete(id);
  expect(await all(await auth0.users.permissions.list('auth0|bob'))).toEqual([]);
});

test('a role for everybody is listed without members, and its permissions belong to everybody', async () => {
  const { body: role } = await ask('POST', 'roles', { name: 'Everybody', is_default: true });
  expect(role).toEqual({ id: role.id, name: 'Everybody', is_default: true });
  await auth0.roles.permissions.add(role.id, { permissions: [permission('read:x')] });
  expect(await all(await auth0.users.roles.list('auth0|carol'))).toEqual([]);
  expect((await ask('GET', 'users/auth0%7Ccarol/permissions')).body).toMatchObject([
    { sources: [{ source_type: 'ROLE', source_name: 'Everybody' }] },
  ]);
  expect((await ask('PATCH', `roles/${role.id}`, { is_default: false })).body).not.toHaveProperty('is_default');
  await auth0.roles.delete(role.id);
});

test('an unknown or invalid role, permission or user is refused', async () => {
  const { id = '' } = await auth0.roles.create({ name: 'Empty' });
  const refused: [Promise<unknown>, unknown][] = [
    [auth0.roles.permissions.add(id, { permissions: [permission('fly:x')] }), refusal(400, 'invalid_body')],
    [
      auth0.roles.permissions.add(id, { permissions: [permission('read:x', 'urn:none')] }),
      refusal(404, 'inexistent_resource_server'),
    ],
    [auth0.roles.permissions.add(id, { permissions: [] }), refusal(400, 'invalid_body')],
    [auth0.roles.users.assign(id, { users: ['auth0|nobody'] }), refusal(404, 'inexistent_user')],
    [auth0.roles.users.assign('rol_none', { users: ['auth0|bob'] }), refusal(404, 'inexistent_role')],
    [auth0.users.roles.assign('auth0|bob', { roles: ['rol_none'] }), refusal(404, 'inexistent_role')],
    [auth0.users.roles.assign('auth0|nobody', { roles: [id] }), refusal(404, 'inexistent_user')],
    [auth0.roles.create({ name: ' ' }), refusal(400, 'invalid_body')],
    [clientOf('editor').roles.list(), refusal(403, 'insufficient_scope')],
  ];
  for (const [asking, expected] of refused) await expect(asking).rejects.toEqual(expected);
  await auth0.roles.delete(id);
});

// The requests of `a0deploy import` with a role and its permissions, made, changed and deleted (auth0-deploy-cli 8.44.0).
test('auth0-deploy-cli creates a role with permissions, changes them and deletes it', async () => {
  const listed = 'roles?per_page=100&page=0&include_totals=true&type=tenant';
  const { body: made } = await ask('POST', 'roles', { name: 'Deployed', description: 'By a file' });
  const at = `roles/${made.id}/permissions`;
  const management = permission('read:clients', audience);
  expect((await ask('POST', at, { permissions: [permission('read:x'), management] })).status).toBe(201);
  expect((await ask('GET', listed)).body.roles).toContainEqual(made);
  expect((await ask('GET', `${at}?per_page=100&page=0&include_totals=true`)).body.permissions).toHaveLength(2);
  expect((await ask('PATCH', `roles/${made.id}`, { name: 'Deployed', description: 'Changed' })).status).toBe(200);
  expect((await ask('DELETE', at, { permissions: [management] })).status).toBe(204);
  expect((await ask('GET', `${at}?per_page=100&page=0&include_totals=true`)).body.permissions).toMatchObject([
    permission('read:x'),
  ]);
  expect((await ask('DELETE', `roles/${made.id}`)).status).toBe(200);
});
