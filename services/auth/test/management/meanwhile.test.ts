/** Two administrators at once: one deletes what the other changes or adds to, or both change it. */
import { generateKeyPairSync } from 'node:crypto';
import { until } from '@gatepost/testkit/until';
import { afterAll, describe, expect, test } from '@jest/globals';
import { hashSecret } from '../../src/clients/secret.ts';
import { api } from '../seeds.ts';
import { openManagement } from './target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const { gate, auth0, ask, tokenOf, audience } = stack.use(await openManagement());
const token = `Bearer ${await tokenOf('manager')}`;
const { pool: db } = gate;

/** Asks while another transaction has changed or deleted it but not committed, so that a read finds it as it was; then commits that one. */
async function askBeside(
  statement: string,
  id: string,
  [method, path, body]: [string, string, object?],
  by: string = token,
) {
  const other = await db.connect();
  try {
    await other.query('BEGIN');
    expect((await other.query(statement, [id])).rowCount).toBe(1);
    const { rows } = await other.query('SELECT pg_backend_pid() AS pid');
    let answered = false;
    const asked = ask(method, path, body, by).finally(() => {
      answered = true;
    });
    await until('the write to wait', async () => {
      // Not just any lock: the gate's notifications also wait for each other.
      const { rowCount } = await db.query('SELECT FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))', [
        rows[0].pid,
      ]);
      return answered || rowCount;
    });
    await other.query('COMMIT');
    return await asked;
  } finally {
    other.release(true);
  }
}

await ask(
  'PATCH',
  'clients/web',
  { organization_usage: 'allow', initiate_login_uri: 'https://app.example/login' },
  token,
);

const makers = {
  client: async () => (await auth0.clients.create({ name: 'Short-lived', organization_usage: 'allow' })).client_id!,
  organization: async () =>
    (await auth0.organizations.create({ name: `short-lived-${Math.random()}`.replace('.', '') })).id!,
  role: async () => (await auth0.roles.create({ name: `Short-lived ${Math.random()}` })).id!,
  connection: async () =>
    (await auth0.connections.create({ name: `Short-lived-${Math.random()}`.replace('.', ''), strategy: 'auth0' })).id!,
  resource_server: async () =>
    (await auth0.resourceServers.create({ identifier: `urn:short-lived:${Math.random()}` })).id!,
  action: async () =>
    (
      await ask('POST', 'actions/actions', {
        name: `short-lived ${Math.random()}`,
        supported_triggers: [{ id: 'post-login', version: 'v3' }],
        code: 'exports.onExecutePostLogin = async () => {};',
      })
    ).body.id as string,
  user: async () =>
    (
      await auth0.users.create({
        connection: 'Username-Password-Authentication',
        email: `short-lived-${Math.random()}@example.com`,
        password: 'a long enough secret',
      })
    ).user_id!,
};
const deletions: Record<keyof typeof makers, string> = {
  client: 'DELETE FROM clients WHERE client_id = $1',
  organization: 'DELETE FROM organizations WHERE id = $1',
  role: 'DELETE FROM roles WHERE id = $1',
  connection: 'DELETE FROM connections WHERE id = $1',
  resource_server: 'DELETE FROM resource_servers WHERE id = $1',
  action: 'DELETE FROM actions WHERE id = $1',
  user: 'DELETE FROM accounts WHERE user_id = $1',
};
const permissions = { permissions: [{ permission_name: 'read:x', resource_server_identifier: api }] };

const cases: [keyof typeof makers, method: string, path: string, body?: object | ((id: string) => object)][] = [
  ['client', 'PATCH', 'clients/:id', { name: 'Changed' }],
  ['client', 'PATCH', 'clients/:id', { client_metadata: { a: 'b' } }],
  ['client', 'POST', 'clients/:id/rotate-secret', {}],
  ['client', 'POST', 'client-grants', (client_id) => ({ client_id, audience: api, scope: ['read:x'] })],
  ['organization', 'PATCH', 'organizations/:id', { display_name: 'Changed', metadata: { a: 'b' } }],
  ['organization', 'POST', 'organizations/:id/members', { members: ['auth0|alice'] }],
  ['organization', 'POST', 'organizations/:id/enabled_connections', { connection_id: 'con_email' }],
  [
    'organization',
    'POST',
    'organizations/:id/invitations',
    {
      inviter: { name: 'Alice' },
      invitee: { email: 'maria@example.com' },
      client_id: 'web',
      send_invitation_email: false,
    },
  ],
  ['role', 'PATCH', 'roles/:id', { description: 'Changed' }],
  ['role', 'POST', 'roles/:id/permissions', permissions],
  ['role', 'POST', 'roles/:id/users', { users: ['auth0|alice'] }],
  ['role', 'POST', 'users/auth0%7Cbob/roles', (id) => ({ roles: [id] })],
  ['connection', 'PATCH', 'connections/:id', { display_name: 'Changed' }],
  [
    'connection',
    'POST',
    'organizations',
    (connection_id) => ({ name: 'meanwhile', enabled_connections: [{ connection_id }] }),
  ],
  ['resource_server', 'PATCH', 'resource-servers/:id', { name: 'Changed' }],
  ['action', 'PATCH', 'actions/actions/:id', { name: 'changed meanwhile' }],
  ['user', 'PATCH', 'users/:id', { name: 'Changed' }],
  ['user', 'PATCH', 'users/:id', { user_metadata: { a: 'b' } }],
  ['user', 'POST', 'users/:id/permissions', permissions],
];

test.each(cases)(
  'when the %s is deleted during a request, the request gets a 404: %s %s',
  async (kind, method, path, body) => {
    const id = await makers[kind]();
    const given = typeof body === 'function' ? body(id) : body;
    const answer = await askBeside(deletions[kind], id, [method, path.replace(':id', encodeURIComponent(id)), given]);
    expect(answer).toEqual({
      status: 404,
      body: { statusCode: 404, error: 'Not Found', message: expect.any(String), errorCode: `inexistent_${kind}` },
    });
  },
);

describe('a connection that is deleted while an account is created in it', () => {
  const named = async () => {
    const id = await makers.connection();
    return { id, name: (await auth0.connections.get(id)).name! };
  };
  const countIn = async (name: string) =>
    (await db.query('SELECT FROM accounts WHERE connection = $1', [name])).rowCount;

  test('refuses the account if the deletion comes first', async () => {
    const { id, name } = await named();
    const person = { connection: name, email: 'late@example.com', password: 'a long enough secret' };
    expect(await askBeside(deletions.connection, id, ['POST', 'users', person])).toMatchObject({
      status: 404,
      body: { errorCode: 'inexistent_connection' },
    });
    expect(await countIn(name)).toBe(0);
  });

  test('takes the account with it if the account comes first', async () => {
    const { id, name } = await named();
    const creation = `
      WITH held AS (SELECT name FROM connections WHERE id = $1 FOR KEY SHARE)
      INSERT INTO accounts (user_id, connection) SELECT 'auth0|just-created', name FROM held`;
    expect(await askBeside(creation, id, ['DELETE', `connections/${id}`])).toMatchObject({ status: 204 });
    expect(await countIn(name)).toBe(0);
  });
});

describe('a key of an application', () => {
  const makeKey = async () => {
    const path = `clients/${await makers.client()}`;
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const pem = publicKey.export({ type: 'spki', format: 'pem' });
    const { body } = await ask('POST', `${path}/credentials`, { credential_type: 'public_key', pem }, token);
    return { path, id: body.id as string };
  };

  test('that is deleted while it is named as the one to authenticate by is refused, and the secret still counts', async () => {
    const { path, id } = await makeKey();
    const change = { client_authentication_methods: { private_key_jwt: { credentials: [{ id }] } } };
    expect(await askBeside('DELETE FROM client_credentials WHERE id = $1', id, ['PATCH', path, change])).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining(id) },
    });
    expect((await ask('GET', path, undefined, token)).body.token_endpoint_auth_method).toBe('client_secret_post');
  });

  test('that is named while it is deleted stays', async () => {
    const { path, id } = await makeKey();
    const deletion: [string, string] = ['DELETE', `${path}/credentials/${id}`];
    expect(await askBeside('UPDATE client_credentials SET attached = true WHERE id = $1', id, deletion)).toMatchObject({
      status: 409,
      body: { errorCode: 'credential_in_use' },
    });
  });
});

describe('an API that is deleted while a request names it', () => {
  const makeApi = async () => {
    const identifier = `urn:named:${Math.random()}`;
    const { id = '' } = await auth0.resourceServers.create({ identifier, scopes: [{ value: 'read:it' }] });
    return { id, identifier };
  };
  type Naming = [kind: string, table: string, (identifier: string) => Promise<[string, string, object]>];
  const permission = (resource_server_identifier: string) => ({
    permissions: [{ permission_name: 'read:it', resource_server_identifier }],
  });
  const namings: Naming[] = [
    [
      'a client grant',
      'client_grants',
      async (audience) => ['POST', 'client-grants', { client_id: await makers.client(), audience, scope: ['read:it'] }],
    ],
    [
      'a role’s permission',
      'role_permissions',
      async (audience) => ['POST', `roles/${await makers.role()}/permissions`, permission(audience)],
    ],
    [
      'a person’s permission',
      'user_permissions',
      async (audience) => ['POST', 'users/auth0%7Cbob/permissions', permission(audience)],
    ],
  ];
  const countOf = async (table: string, identifier: string) =>
    (await db.query(`SELECT FROM ${table} WHERE audience = $1`, [identifier])).rowCount;

  test.each(namings)('is not named by %s after it', async (_, table, naming) => {
    const { id, identifier } = await makeApi();
    expect(await askBeside(deletions.resource_server, id, await naming(identifier))).toMatchObject({
      status: 404,
      body: { errorCode: 'inexistent_resource_server' },
    });
    expect(await countOf(table, identifier)).toBe(0);
  });

  test.each(namings)('takes %s with it that was written just before', async (_, table, naming) => {
    const { id, identifier } = await makeApi();
    const [, deleted] = await askInTurn('resource_servers', 'id', id, [
      await naming(identifier),
      ['DELETE', 'resource-servers/:id'],
    ]);
    expect([deleted?.status, await countOf(table, identifier)]).toEqual([204, 0]);
  });

  test('does not become the default audience', async () => {
    const { id, identifier: default_audience } = await makeApi();
    const change: [string, string, object] = ['PATCH', 'tenants/settings', { default_audience }];
    expect(await askBeside(deletions.resource_server, id, change)).toMatchObject({ status: 400 });
    expect((await ask('GET', 'tenants/settings', undefined, token)).body.default_audience).toBe('');
  });

  test('stays if it has just become the default audience', async () => {
    const { id, identifier: default_audience } = await makeApi();
    const [, deleted] = await askInTurn('resource_servers', 'id', id, [
      ['PATCH', 'tenants/settings', { default_audience }],
      ['DELETE', 'resource-servers/:id'],
    ]);
    expect(deleted).toMatchObject({ status: 409, body: { errorCode: 'default_audience' } });
    await ask('PATCH', 'tenants/settings', { default_audience: '' }, token);
  });
});

test('a scope that its API loses during a request is not granted', async () => {
  const scopes = (...values: string[]) => values.map((value) => ({ value }));
  const identifier = `urn:losing:${Math.random()}`;
  const { id = '' } = await auth0.resourceServers.create({ identifier, scopes: scopes('a', 'b') });
  const client_id = await makers.client();
  const { body: grant } = await ask('POST', 'client-grants', { client_id, audience: identifier, scope: ['a'] }, token);
  const change: [string, string, object] = ['PATCH', `client-grants/${grant.id}`, { scope: ['a', 'b'] }];
  const losing = `UPDATE resource_servers SET scopes = '[{"value": "a"}]' WHERE id = $1`;
  expect(await askBeside(losing, id, change)).toMatchObject({ status: 400 });
});

test('two concurrent deletions of the same object both succeed', async () => {
  for (const [kind, path] of [
    ['client', 'clients/:id'],
    ['resource_server', 'resource-servers/:id'],
    ['connection', 'connections/:id'],
  ] as const) {
    const id = await makers[kind]();
    expect([kind, await askBeside(deletions[kind], id, ['DELETE', path.replace(':id', id)])]).toEqual([
      kind,
      { status: 204, body: undefined },
    ]);
  }
});

test('a client grant that is deleted during a request does not come back', async () => {
  const client_id = await makers.client();
  const { body: grant } = await ask('POST', 'client-grants', { client_id, audience: api, scope: ['read:x'] });
  const change: [string, string, object] = ['PATCH', `client-grants/${grant.id}`, { scope: ['read:x', 'write:x'] }];
  expect(await askBeside('DELETE FROM client_grants WHERE id = $1', grant.id, change)).toMatchObject({
    status: 404,
    body: { errorCode: 'inexistent_client_grant' },
  });
  expect((await db.query('SELECT FROM client_grants WHERE client_id = $1', [client_id])).rowCount).toBe(0);
});

/** Sends requests that wait for a row, one after the other, and lets them go on when all wait. */
async function askInTurn(table: string, column: string, id: string, asks: [string, string, object?][]) {
  const other = await db.connect();
  try {
    await other.query('BEGIN');
    await other.query(`SELECT FROM ${table} WHERE ${column} = $1 FOR UPDATE`, [id]);
    const { rows } = await other.query('SELECT pg_backend_pid() AS pid');
    const asked: ReturnType<typeof ask>[] = [];
    for (const [method, path, body] of asks) {
      asked.push(ask(method, path.replace(':id', id), body, token));
      await until('the change to wait', async () => {
        const { rowCount } = await db.query(
          `WITH RECURSIVE waiting (pid) AS (
             SELECT $1::int
             UNION SELECT activity.pid FROM pg_stat_activity activity, waiting WHERE waiting.pid = ANY (pg_blocking_pids(activity.pid)))
           SELECT FROM waiting WHERE pid <> $1`,
          [rows[0].pid],
        );
        return rowCount === asked.length;
      });
    }
    await other.query('COMMIT');
    return await Promise.all(asked);
  } finally {
    other.release(true);
  }
}

test.each<[kind: keyof typeof makers, table: string, column: string, path: string, first: object, second: object]>([
  [
    'client',
    'clients',
    'client_id',
    'clients/:id',
    { mfa_policy: 'always', allowed_clients: ['web'], client_metadata: { a: 'b' } },
    { organization_usage: 'require', cross_origin_auth: true, client_metadata: { c: 'd' } },
  ],
  [
    'resource_server',
    'resource_servers',
    'id',
    'resource-servers/:id',
    { consent_policy: 'standard' },
    { token_lifetime_for_web: 600 },
  ],
  ['connection', 'connections', 'id', 'connections/:id', { display_name: 'Changed' }, { show_as_button: true }],
])('of two simultaneous changes of one %s both are kept', async (kind, table, column, path, first, second) => {
  const id = await makers[kind]();
  const answers = await askInTurn(table, column, id, [
    ['PATCH', path, first],
    ['PATCH', path, second],
  ]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  const metadata = kind === 'client' && { client_metadata: { a: 'b', c: 'd' } };
  const { body } = await ask('GET', path.replace(':id', id), undefined, token);
  expect(body).toMatchObject({ ...first, ...second, ...metadata });
});

test('of two simultaneous rotations of a client’s secret both secrets are live', async () => {
  const id = await makers.client();
  const rotate: [string, string, object] = ['POST', 'clients/:id/rotate-secret', {}];
  const rotated = await askInTurn('clients', 'client_id', id, [rotate, rotate]);
  const { rows } = await db.query('SELECT secret_hashes FROM clients WHERE client_id = $1', [id]);
  expect(rows[0].secret_hashes).toEqual(rotated.map(({ body }) => hashSecret(body.client_secret)).reverse());
});

test('a secret that a change of an action does not name by value keeps the value of a simultaneous change', async () => {
  const id = await makers.action();
  const path = 'actions/actions/:id';
  await ask('PATCH', path.replace(':id', id), { secrets: [{ name: 'KEY', value: 'old' }] }, token);
  const [changed, kept] = await askInTurn('actions', 'id', id, [
    ['PATCH', path, { secrets: [{ name: 'KEY', value: 'new' }] }],
    ['PATCH', path, { secrets: [{ name: 'KEY' }, { name: 'MORE', value: 'more' }] }],
  ]);
  expect(kept!.body.secrets).toEqual([changed!.body.secrets[0], expect.objectContaining({ name: 'MORE' })]);
});

describe('scopes of the management API that are taken away during a request', () => {
  const scope = ['delete:users'];
  const byLesser = async () => `Bearer ${await tokenOf('manager', { scope: 'update:clients update:client_grants' })}`;
  const refusal = { status: 403, body: { errorCode: 'insufficient_scope' } };

  test('are not written back to a client grant by a token that does not hold them', async () => {
    const { body: grant } = await ask(
      'POST',
      'client-grants',
      { client_id: await makers.client(), audience, scope },
      token,
    );
    const path = `client-grants/${grant.id}`;
    const lesser = await byLesser();
    expect(await ask('PATCH', path, { scope }, lesser)).toMatchObject({ status: 200 });
    const statement = "UPDATE client_grants SET scope = '{}' WHERE id = $1";
    expect(await askBeside(statement, grant.id, ['PATCH', path, { scope }], lesser)).toMatchObject(refusal);
  });

  test('are not written back to a policy for refresh tokens either', async () => {
    const id = await makers.client();
    const change: [string, string, object] = [
      'PATCH',
      `clients/${id}`,
      { refresh_token: { policies: [{ audience, scope }] } },
    ];
    expect(await ask(...change, token)).toMatchObject({ status: 200 });
    const lesser = await byLesser();
    expect(await ask(...change, lesser)).toMatchObject({ status: 200 });
    const statement = 'UPDATE clients SET refresh_token = NULL WHERE client_id = $1';
    expect(await askBeside(statement, id, change, lesser)).toMatchObject(refusal);
  });
});

describe('a change of a user that read it before its owner changed it', () => {
  test('does not make an address verified that the owner has left', async () => {
    const id = await makers.user();
    const path = `users/${encodeURIComponent(id)}`;
    const { body: before } = await ask('GET', path, undefined, token);
    expect(before).toMatchObject({ email_verified: false });
    const { status, body } = await askBeside(
      "UPDATE accounts SET email = 'proven-' || email, email_verified = true WHERE user_id = $1",
      id,
      ['PATCH', path, { email: before.email }],
    );
    expect([status, body]).toEqual([200, expect.objectContaining({ email: before.email, email_verified: false })]);
  });

  test('leaves a number verified that it does not name', async () => {
    const id = await makers.user();
    const { status, body } = await askBeside(
      "UPDATE accounts SET phone_number = '+15555550177', phone_verified = true WHERE user_id = $1",
      id,
      ['PATCH', `users/${encodeURIComponent(id)}`, { name: 'Changed', user_metadata: { a: 'b' } }],
    );
    expect([status, body]).toEqual([
      200,
      expect.objectContaining({
        name: 'Changed',
        user_metadata: { a: 'b' },
        phone_number: '+15555550177',
        phone_verified: true,
      }),
    ]);
  });

  test('does not remove the last name that it leaves', async () => {
    const id = await makers.user();
    const path = `users/${encodeURIComponent(id)}`;
    await ask('PATCH', path, { username: 'twonames' }, token);
    const { status } = await askBeside('UPDATE accounts SET username = NULL WHERE user_id = $1', id, [
      'PATCH',
      path,
      { email: null },
    ]);
    expect(status).toBe(400);
  });
});

// Prisma gives up on a connection for a transaction after two seconds, unless it is told what else holds here.
test('changes that wait for a connection longer than two seconds are made, not refused', async () => {
  const id = await makers.client();
  const other = await db.connect();
  try {
    await other.query('BEGIN');
    await other.query('SELECT FROM clients WHERE client_id = $1 FOR UPDATE', [id]);
    const change = (_: unknown, index: number) =>
      ask('PATCH', `clients/${id}`, { client_metadata: { [`key${index}`]: 'x' } }, token);
    const changes = Array.from({ length: 24 }, change);
    await until('all connections to wait', async () => {
      const { rowCount } = await db.query(
        "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
      );
      return rowCount! >= 16;
    });
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    await other.query('COMMIT');
    expect((await Promise.all(changes)).map(({ status }) => status)).toEqual(changes.map(() => 200));
  } finally {
    other.release(true);
  }
});
