/** What a gate refuses to start on, and what a second start changes. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readEnv } from '@gatepost/runtime/env';
import { withoutMain } from '@gatepost/testkit/program';
import { freshDatabase } from '@gatepost/testkit/stores';
import { afterAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { variables } from '../src/config.ts';
import { openGate } from './gate.ts';
import { alice, api, apis, bob, connections, machine, web } from './seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());

test('a seed with an unknown key is refused with its path, before anything is opened', async () => {
  const seed = { clients: [{ ...machine, callback: 'http://x' }], users: [{ user_id: 'nobody' }] };
  await expect(openGate(seed)).rejects.toMatchObject({
    name: 'Misconfigured',
    problems: ['clients[0].callback: unknown key', expect.stringContaining('users[0].user_id: must be')],
  });
});

// Each was once reported alone, after the schema had been migrated and seeded.
test('bad variables, and those that need others, are refused together, before anything is opened', () => {
  const given = { SECRETS_KEY: Buffer.alloc(32, 1).toString('base64'), REDIS_URL: 'redis://127.0.0.1:1' };
  const read = (env: Record<string, string>) => () => readEnv(variables, { ...given, ...env });
  const sms = { SMS_URL: 'https://sms.example/' };
  const database = { DATABASE_URL: 'postgres://gate@127.0.0.1:1/gatepost' };
  expect(read({ ...sms, EVENTS_ACCOUNT: 'acme', ORGANIZATION_ACCOUNTS: 'on', KEY_ROTATION_DAYS: '0' })).toThrow(
    expect.objectContaining({
      name: 'Misconfigured',
      problems: [
        expect.stringContaining('KEY_ROTATION_DAYS'),
        'neither AUTH_DATABASE_URL nor DATABASE_URL is set',
        'EVENTS_ACCOUNT is set, but AMQP_URL is not',
        'ORGANIZATION_ACCOUNTS is on, but AMQP_URL is not set',
        'SMS_URL is set, but SMS_FROM is not, which the form of Twilio needs',
      ],
    }),
  );
  expect(read({ EVENTS_ACCOUNT: 'a b', HOST: 'a b' })).toThrow(
    expect.objectContaining({
      problems: [
        'HOST: must be an IP address or the name of a host',
        'EVENTS_ACCOUNT: must be the name of an account, of letters, digits, `.`, `_` and `-`',
        'neither AUTH_DATABASE_URL nor DATABASE_URL is set',
        'EVENTS_ACCOUNT is set, but AMQP_URL is not',
      ],
    }),
  );
  // A mail without a sender was refused by the mail server, as the log said later.
  expect(read({ ...database, MAIL_FROM: 'Acme' })).toThrow(
    expect.objectContaining({ problems: ['MAIL_FROM: must have an address, as in Acme <no-reply@acme.example>'] }),
  );
  expect(read({ ...database, ...sms, SMS_FROM: '+15550001111' })).not.toThrow();
  expect(read({ ...database, ...sms, SMS_FORMAT: 'json' })).not.toThrow();
});

test('a seed with an unknown API, scope or grant type is refused with the paths of its mistakes', async () => {
  const grants = [
    { audience: api, scope: ['read:x', 'write:nothing'] },
    { audience: 'https://nobody.example/', scope: [] },
  ];
  await expect(openGate({ apis, clients: [{ ...machine, client_grants: grants }] })).rejects.toMatchObject({
    name: 'Misconfigured',
    message: expect.stringMatching(/^bad seed file \S+:\n/),
    problems: [
      `clients[0].client_grants[0].scope[1]: the API ${api} has no scope write:nothing`,
      'clients[0].client_grants[1].audience: there is no API https://nobody.example/',
    ],
  });
  const magic = { ...machine, grant_types: ['client_credentials', 'urn:example:magic'] };
  await expect(openGate({ apis, clients: [magic] })).rejects.toMatchObject({
    name: 'Misconfigured',
    message: expect.stringMatching(/^bad seed file \S+:\n/),
    problems: ['clients[0].grant_types[1]: no grant plug-in has urn:example:magic'],
  });
});

test('a seed with a client that has the id of the /account client is refused', async () => {
  const client = { ...machine, client_id: 'gatepost-account' };
  await expect(openGate({ apis, clients: [client] })).rejects.toMatchObject({
    name: 'Misconfigured',
    problems: ['client gatepost-account: the gate has a client of its own with this id'],
  });
});

test('a seed gives organizations their members with roles, changes nothing when repeated, and names missing people', async () => {
  const people = ['auth0|ann', 'auth0|ben'].map((user_id) => ({ user_id, email: `${user_id.slice(6)}@example.com` }));
  const organization = {
    name: 'orchard',
    display_name: 'Orchard Ltd',
    metadata: { gatepost_account: 'true' },
    connections: [{ name: 'email', assign_membership_on_login: true }],
    members: [{ user_id: 'auth0|ann', roles: ['Owner'] }, { user_id: 'auth0|ben' }],
  };
  const seed = {
    connections: [
      { name: 'Username-Password-Authentication', strategy: 'auth0' },
      { name: 'email', strategy: 'email' },
    ],
    roles: [{ name: 'Owner', permissions: [] }],
    users: people,
    clients: [
      { ...web, organization_usage: 'allow' },
      { ...web, client_id: 'other' },
    ],
    gate_organizations: [organization],
  };
  const gate = stack.use(await openGate(seed));
  const { pool: db } = gate;
  const stored = async () =>
    (
      await db.query(
        `SELECT o.id, o.version, o.display_name, o.metadata, array_agg(m.user_id || ' ' || coalesce(r.name, '') ORDER BY m.user_id) AS members
           FROM organizations o JOIN organization_members m ON m.organization_id = o.id
           LEFT JOIN organization_member_roles USING (organization_id, user_id) LEFT JOIN roles r ON r.id = role_id GROUP BY o.id`,
      )
    ).rows;
  const first = await stored();
  const { display_name, metadata } = organization;
  expect(first).toMatchObject([{ display_name, metadata, members: ['auth0|ann Owner', 'auth0|ben '] }]);
  expect(
    (await db.query('SELECT connection_id, assign_membership_on_login FROM organization_connections')).rows,
  ).toEqual([{ connection_id: 'con_email', assign_membership_on_login: true }]);
  stack.use(await openGate(seed, { DATABASE_URL: gate.databaseUrl, SECRETS_KEY: gate.env.SECRETS_KEY! }));
  expect(await stored()).toEqual(first);
  const askFor = async (client_id: string) => {
    const request = { client_id, response_type: 'code', redirect_uri: web.callbacks[0]!, organization: 'orchard' };
    return (await gate.get(`authorize?${new URLSearchParams(request)}`)).headers.get('location');
  };
  expect(await askFor('web')).toMatch(/^\/interaction\//);
  expect(await askFor('other')).toContain('error=invalid_request');
  const strange = { name: 'mill', connections: [{ name: 'x' }], members: [{ user_id: 'auth0|cy', roles: ['None'] }] };
  await expect(openGate({ ...seed, gate_organizations: [strange] })).rejects.toMatchObject({
    problems: [
      'gate_organizations[0].connections[0].name: no connection x',
      'gate_organizations[0].members[0].user_id: nobody is auth0|cy',
      'gate_organizations[0].members[0].roles[0]: no role None',
    ],
  });
});

test('all invalid environment variables are named at once', async () => {
  const env = { ISSUER: 'http://localhost:4400/tenant', SECRETS_KEY: 'short', AUTH_PORT: 'x' };
  await expect(openGate({}, env)).rejects.toMatchObject({
    name: 'Misconfigured',
    problems: [
      expect.stringContaining('ISSUER'),
      expect.stringContaining('AUTH_PORT'),
      expect.stringContaining('SECRETS_KEY'),
    ],
  });
});

test('a seed applied again changes what it names, deletes nothing, and keeps secrets as hashes', async () => {
  const first = stack.use(await openGate({ apis, clients: [machine, { client_id: 'gone', grant_types: [] }] }));
  const second = stack.use(
    await openGate(
      { apis, clients: [{ ...machine, name: 'Renamed', client_secret: 'rotated' }] },
      { DATABASE_URL: first.databaseUrl, SECRETS_KEY: first.env.SECRETS_KEY! },
    ),
  );
  const database = new pg.Client(first.databaseUrl);
  await database.connect();
  const { rows } = await database.query('SELECT client_id, name, secret_hashes FROM auth.clients ORDER BY 1');
  await database.end();
  expect(rows.map((row) => row.client_id)).toEqual(['gone', 'machine']);
  expect(rows[1].name).toBe('Renamed');
  expect(JSON.stringify(rows)).not.toContain('rotated');
  // While a secret is being replaced, the old one lives beside the new one.
  for (const client_secret of ['rotated', 'machine-secret']) {
    const { status } = await second.post('oauth/token', {
      grant_type: 'client_credentials',
      client_id: 'machine',
      client_secret,
      audience: api,
    });
    expect(status).toBe(200);
  }
});

// They became public: the machine got no token any more, and anybody could be the other two.
test('clients keep proving who they are as before when the seed no longer has their secrets or keys', async () => {
  const keys = { keys: [{ kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }] };
  const signing = { client_id: 'signing', grant_types: ['client_credentials'] };
  const first = stack.use(
    await openGate({ apis, clients: [machine, { ...web, token_endpoint_auth_method: 'client_secret_basic' }] }),
  );
  const store = { DATABASE_URL: first.databaseUrl, SECRETS_KEY: first.env.SECRETS_KEY! };
  stack.use(await openGate({ clients: [{ ...signing, jwks: keys }] }, store));
  const { client_secret: _, ...bareMachine } = machine;
  const { client_secret: __, ...bareWeb } = web;
  const second = stack.use(await openGate({ apis, clients: [bareMachine, bareWeb, signing] }, store));
  const { rows } = await first.pool.query(
    'SELECT client_id, token_endpoint_auth_method AS method, jwks FROM clients ORDER BY 1',
  );
  expect(rows.filter(({ client_id }) => client_id !== 'gatepost-account')).toEqual([
    { client_id: 'machine', method: 'client_secret_post', jwks: null },
    { client_id: 'signing', method: 'private_key_jwt', jwks: keys },
    { client_id: 'web', method: 'client_secret_basic', jwks: null },
  ]);
  const ask = (more: object) =>
    second.post('oauth/token', { grant_type: 'client_credentials', client_id: 'machine', audience: api, ...more });
  expect((await ask({ client_secret: 'machine-secret' })).status).toBe(200);
  expect((await ask({})).json).toMatchObject({ error: 'invalid_client' });
});

// It was an error of the database's driver, which named nobody.
test('a seed that gives somebody the address or number of another account is refused with the path', async () => {
  const first = stack.use(await openGate({ connections, users: [bob] }));
  const store = { DATABASE_URL: first.databaseUrl, SECRETS_KEY: first.env.SECRETS_KEY! };
  const seed = { users: [alice, { user_id: 'auth0|robert', email: 'Bob@example.com' }] };
  await expect(openGate(seed, store)).rejects.toMatchObject({
    name: 'Misconfigured',
    message: expect.stringMatching(/^bad seed file \S/),
    problems: ['users[1]: another account of this connection has the email or phone_number'],
  });
});

test('a gate that must not migrate starts once its migrations have run, with a URL from a file, also beside newer ones', async () => {
  const { url } = stack.use(await freshDatabase());
  const start = () => openGate({ apis, clients: [machine] }, { DATABASE_URL: url, MIGRATE_AT_START: 'off' });
  await expect(start()).rejects.toMatchObject({
    name: 'Misconfigured',
    problems: [expect.stringMatching(/^PostgreSQL: \d+ migrations of this version are missing/)],
  });

  const folder = stack.adopt(await mkdtemp(join(tmpdir(), 'url-')), (path) => rm(path, { recursive: true }));
  await writeFile(join(folder, 'url'), `${url}\n`);
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...withoutMain, '--conditions=source', join(import.meta.dirname, '../src/migrations.ts')],
    { env: { AUTH_DATABASE_URL_FILE: join(folder, 'url') } },
  );
  expect(stdout).toMatch(/^auth: (\d+) of \1 migrations applied now/);

  const client = new pg.Client(url);
  await client.connect();
  await client.query(
    `INSERT INTO auth._prisma_migrations (id, checksum, migration_name, finished_at) VALUES ('x', 'x', '99999999_newer', now())`,
  );
  await client.end();
  stack.use(await start());
});
