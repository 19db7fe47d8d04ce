/** Migrations on a database that people have used: nobody is locked out, and nothing is left that belongs to nobody. */
import { spawnSync } from 'node:child_process';
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { migrate } from '@gatepost/migrate/migrate';
import { freshDatabase } from '@gatepost/testkit/stores';
import { afterAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { schemaName } from '../src/database.ts';
import { migrateAuth, migrationsFolder } from '../src/migrations.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());

/** A database as a release left it whose last migration is the one of that time. */
async function databaseOf(last: string): Promise<{ url: string; client: pg.Client }> {
  const folder = stack.adopt(await mkdtemp(join(tmpdir(), 'migrations-')), (path) => rm(path, { recursive: true }));
  for (const name of await readdir(migrationsFolder))
    if (name < last || name.startsWith(last))
      await cp(join(migrationsFolder, name), join(folder, name), { recursive: true });
  const { url } = stack.use(await freshDatabase());
  await migrate({ databaseUrl: url, schema: schemaName, folder });
  const client = stack.adopt(new pg.Client({ connectionString: url, options: '-c search_path=auth' }), (opened) =>
    opened.end(),
  );
  await client.connect();
  return { url, client };
}

test('a migration sets aside usernames that look like addresses or numbers with a log row, and grants find their accounts', async () => {
  const { url, client } = await databaseOf('20261121010000');
  await client.query(`
    INSERT INTO accounts (user_id, connection, email, username, phone_number, app_metadata) VALUES
      ('auth0|thief', 'db', 'thief@example.com', 'victim@example.com', NULL, '{"kept": 1}'),
      ('auth0|number', 'db', NULL, '+1 (555) 555-0100', NULL, '{}'),
      ('auth0|plain', 'db', 'plain@example.com', 'plain', NULL, '{}'),
      ('auth0|odd', 'db', NULL, 'o d d', NULL, '{}');
    INSERT INTO artefacts (model, id, account_id, payload, expires_at) VALUES
      ('Grant', 'kept', 'auth0|plain', '{}', now() + '1 day'), ('Grant', 'lost', 'auth0|gone', '{}', now() + '1 day'),
      ('RefreshToken', 'kept', 'auth0|plain', '{}', now() + '1 day')`);
  await migrateAuth(url);
  const { rows } = await client.query('SELECT user_id, username, app_metadata FROM accounts ORDER BY user_id');
  const renamed = expect.stringMatching(/^user-[0-9a-f]{10}$/);
  expect(rows).toEqual([
    { user_id: 'auth0|number', username: renamed, app_metadata: { former_username: '+1 (555) 555-0100' } },
    { user_id: 'auth0|odd', username: 'o d d', app_metadata: {} },
    { user_id: 'auth0|plain', username: 'plain', app_metadata: {} },
    { user_id: 'auth0|thief', username: null, app_metadata: { kept: 1, former_username: 'victim@example.com' } },
  ]);
  const logs = await client.query('SELECT type, user_id, details FROM logs ORDER BY user_id');
  expect(logs.rows).toMatchObject([
    { type: 'scu', user_id: 'auth0|number', details: { former_username: '+1 (555) 555-0100', username: renamed } },
    { type: 'scu', user_id: 'auth0|thief', details: { former_username: 'victim@example.com', username: null } },
  ]);
  const artefacts = await client.query(
    'SELECT model, id, incarnation IS NOT NULL AS bound FROM artefacts ORDER BY model',
  );
  expect(artefacts.rows).toEqual([
    { model: 'Grant', id: 'kept', bound: true },
    { model: 'RefreshToken', id: 'kept', bound: false },
  ]);
  // Whoever writes past our own code cannot bring one back.
  for (const username of ['a@b.example', '+1-555-555-0100'])
    await expect(
      client.query("UPDATE accounts SET username = $1 WHERE user_id = 'auth0|plain'", [username]),
    ).rejects.toMatchObject({
      code: '23514',
    });
});

test('after a migration keys of other algorithms stay published for the lifetime of the tokens that they signed', async () => {
  const { url, client } = await databaseOf('20261122101100');
  await client.query(`
    INSERT INTO signing_keys (kid, alg, public_jwk, sealed) VALUES ('r', 'RS256', '{}', ''), ('e', 'ES256', '{}', '');
    INSERT INTO resource_servers (id, identifier, token_lifetime) VALUES ('api', 'urn:api', 200000)`);
  await migrateAuth(url);
  const { rows } = await client.query(
    "SELECT alg, until BETWEEN now() + interval '199000 seconds' AND now() + interval '201000 seconds' AS ok FROM former_signing_algs",
  );
  expect(rows).toEqual([{ alg: 'ES256', ok: true }]);
});

test('a migration removes the scope address from a client that registered itself for it', async () => {
  const { url, client } = await databaseOf('20261122120900');
  await client.query(`
    INSERT INTO clients (client_id, oidc_metadata) VALUES
      ('some', '{"scope": "openid address email", "tos_uri": "https://a.example/"}'), ('only', '{"scope": "address"}'),
      ('other', '{"scope": "openid urn:address"}'), ('none', '{}')`);
  await migrateAuth(url);
  const { rows } = await client.query('SELECT client_id, oidc_metadata FROM clients ORDER BY client_id');
  expect(Object.fromEntries(rows.map((row) => [row.client_id, row.oidc_metadata]))).toEqual({
    none: {},
    only: {},
    other: { scope: 'openid urn:address' },
    some: { scope: 'openid email', tos_uri: 'https://a.example/' },
  });
});

test('a migration removes from client grants the scopes that their APIs no longer have', async () => {
  const { url, client } = await databaseOf('20261128030000');
  await client.query(`
    INSERT INTO clients (client_id) VALUES ('web');
    INSERT INTO resource_servers (id, identifier, scopes) VALUES ('a', 'urn:a', '[{"value": "read"}, {"value": "write"}]');
    INSERT INTO client_grants (id, client_id, audience, scope) VALUES
      ('a', 'web', 'urn:a', '{write,lost,read}'), ('management', 'web', 'https://gate.example/api/v2/', '{read:users}')`);
  await migrateAuth(url);
  const { rows } = await client.query('SELECT id, scope FROM client_grants ORDER BY id');
  expect(rows).toEqual([
    { id: 'a', scope: ['write', 'read'] },
    { id: 'management', scope: ['read:users'] },
  ]);
});

// They printed where in our code it happened, and ended with 1 as by a fault of ours.
test.each(['migrations.ts', 'keys/main.ts'])('%s says in a line or two what keeps it from running', async (program) => {
  const path = fileURLToPath(new URL(`../src/${program}`, import.meta.url));
  const run = (databaseUrl: string) => {
    const env = {
      PATH: process.env.PATH,
      DATABASE_URL: databaseUrl,
      REDIS_URL: 'redis://127.0.0.1:1',
      SECRETS_KEY: Buffer.alloc(32).toString('base64'),
    };
    const { status, stderr } = spawnSync(process.execPath, ['--conditions=source', path, 'list'], {
      env,
      encoding: 'utf8',
    });
    return { status, lines: stderr.trimEnd().split('\n') };
  };
  const refused = new URL(stack.use(await freshDatabase()).url);
  refused.password = 'wrong';
  expect(run(refused.href)).toEqual({
    status: 78,
    lines: [
      expect.stringMatching(/^(auth migrations|keys): could not start:$/),
      expect.stringMatching(/^ {2}DATABASE_URL: PostgreSQL refuses it: password authentication failed/),
    ],
  });
  expect(run('nonsense')).toMatchObject({
    status: 78,
    lines: expect.arrayContaining([expect.stringMatching(/^ {2}DATABASE_URL: must be a URL/)]),
  });
  expect(run('postgres://a:b@127.0.0.1:1/c')).toEqual({
    status: 69,
    lines: [expect.stringMatching(/: a store is away: .*127\.0\.0\.1:1/)],
  });
});
