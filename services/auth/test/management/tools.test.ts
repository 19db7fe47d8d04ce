/** What configures a tenant from outside: it finds what it looks for, and what it writes it reads again. */
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, test } from '@jest/globals';
import { exportPKCS8, exportSPKI, generateKeyPair, SignJWT } from 'jose';
import pg from 'pg';
import { api } from '../seeds.ts';
import { openManagement } from './target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const { gate, ask, tokenOf } = stack.use(await openManagement());
const token = `Bearer ${await tokenOf('manager')}`;
const asManager = (method: string, path: string, body?: unknown) => ask(method, path, body, token);

type Recorded = { method: string; path: string; body?: unknown };
const recordedOf = (file: string): Recorded[] =>
  readFileSync(new URL(file, import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

// The requests of `a0deploy export` and `a0deploy import` of what it exported (auth0-deploy-cli 8.44.0, no resource left out), each once; of the
// custom texts and partials of 40 pages those of two.
test('auth0-deploy-cli exports everything that it knows, and importing its own export twice changes nothing', async () => {
  const recorded = recordedOf('auth0-deploy-cli.ndjson');
  const readAll = async () => {
    const answers: Record<string, unknown> = {};
    for (const { method, path } of recorded) {
      if (method !== 'GET') continue;
      const { status, body } = await asManager(method, path);
      expect([path, status === 200 || status === 404]).toEqual([path, true]);
      answers[path] = body;
    }
    return answers;
  };
  const before = await readAll();
  for (let round = 0; round < 2; round += 1) {
    for (const { method, path, body } of recorded) {
      if (method === 'GET') continue;
      const { status, body: answer } = await asManager(method, path, body);
      expect([path, status, status < 300 || answer]).toEqual([path, 200, true]);
    }
    expect(await readAll()).toEqual(before);
  }
});

// The requests of `a0deploy import` (auth0-deploy-cli 8.44.0) where there were none of these, the connection's secret filled in by a mapping; of
// `a0deploy export`; and of `a0deploy import` of what that wrote, in which the tool has left the secret out. Names stand for ids.
test('auth0-deploy-cli imports its own export of roles, organizations, connections and actions, and finds them again', async () => {
  type Step = Recorded & { phase: 'make' | 'read' | 'again' };
  const recorded = recordedOf('auth0-deploy-cli-people.ndjson') as Step[];
  const ids: Record<string, string> = {};
  const run = async (phase: Step['phase']) => {
    const answers: Record<string, unknown> = {};
    for (const step of recorded.filter((each) => each.phase === phase)) {
      const filled = JSON.stringify(step).replaceAll(/\{(\w+)\}(?=[/"?])/g, (_, name) => ids[name] ?? '');
      const { method, path, body } = JSON.parse(filled) as Step;
      const { status, body: answer } = await asManager(method, path, body);
      expect([path, status < 300 || (method === 'GET' && status === 404), answer]).toEqual([path, true, answer]);
      const made = /^(?:actions\/)?(\w+)s$/.exec(path)?.[1];
      if (method === 'POST' && made) ids[made] = answer.id;
      // An action that is deployed anew is another version of it.
      answers[step.path] = JSON.parse(
        JSON.stringify(answer ?? null, (name, value) =>
          /^(?:updated_at|built_at|deployed_version)$/.test(name) ? undefined : value,
        ),
      );
    }
    return answers;
  };
  await run('make');
  expect(Object.keys(ids)).toEqual(['action', 'connection', 'role', 'organization']);
  const before = await run('read');
  expect(before['connections/{connection}/clients?take=100']).toMatchObject({ clients: [{ client_id: 'web' }] });
  for (let round = 0; round < 2; round += 1) {
    await run('again');
    expect(await run('read')).toEqual(before);
  }
  const { body: connection } = await asManager('GET', `connections/${ids.connection}`);
  expect(connection).toMatchObject({ enabled_clients: ['web'], options: { client_secret: 'our-secret' } });
  await asManager('DELETE', `organizations/${ids.organization}`);
  await asManager('DELETE', `roles/${ids.role}`);
  await asManager('DELETE', `connections/${ids.connection}`);
  await asManager('DELETE', `actions/actions/${ids.action}?force=true`);
});

// The requests of `a0deploy import` of an export with a branding, own words and languages (auth0-deploy-cli 8.44.0).
test('auth0-deploy-cli writes branding, custom texts and languages, and reads them back', async () => {
  const writes: [method: string, path: string, body: object, none: object][] = [
    [
      'PATCH',
      'branding',
      {
        font: { url: 'https://cdn.example/f.woff2' },
        colors: { primary: '#0059d6', page_background: '#000000' },
        logo_url: 'https://cdn.example/l.png',
        favicon_url: 'https://cdn.example/f.ico',
      },
      { font: null, colors: null, logo_url: null, favicon_url: null },
    ],
    ['PUT', 'prompts/login/custom-text/en', { login: { title: 'Hello', description: 'Welcome' } }, {}],
    [
      'PUT',
      'prompts/reset-password/custom-text/pt-BR',
      { 'reset-password-request': { buttonText: 'Mandar' }, 'reset-password-success': { eventTitle: 'Pronto' } },
      {},
    ],
    ['PATCH', 'tenants/settings', { enabled_locales: ['en', 'fr', 'pt-BR'] }, { enabled_locales: null }],
  ];
  for (const [method, path, body, none] of writes) {
    expect((await asManager(method, path, body)).status).toBe(200);
    expect((await asManager('GET', path)).body).toMatchObject(body);
    await asManager(method, path, none);
  }
});

// `a0deploy import` (auth0-deploy-cli 8.44.0) writes all attack protection at the same moment.
test('auth0-deploy-cli writes many settings at once, and all of them are stored', async () => {
  const protection = 'attack-protection/';
  const factors = ['otp', 'email', 'webauthn-roaming', 'webauthn-platform'];
  const writes: [method: string, path: string, body: object, back: object][] = [
    ['PATCH', `${protection}brute-force-protection`, { max_attempts: 7 }, { max_attempts: 10 }],
    ['PATCH', `${protection}suspicious-ip-throttling`, { allowlist: ['127.0.0.0/24'] }, { allowlist: [] }],
    ['PATCH', `${protection}bot-detection`, { bot_detection_level: 'high' }, { bot_detection_level: 'low' }],
    ...factors.map((name): (typeof writes)[0] => [
      'PUT',
      `guardian/factors/${name}`,
      { enabled: true },
      { enabled: false },
    ]),
    ['PATCH', 'tenants/settings', { flags: { enable_sso: true } }, { flags: null }],
    ['PATCH', 'tenants/settings', { error_page: { url: 'https://e.example/' } }, { error_page: null }],
    ['PATCH', 'branding', { logo_url: 'https://cdn.example/l.png' }, { logo_url: null }],
    ['PATCH', 'branding', { favicon_url: 'https://cdn.example/f.ico' }, { favicon_url: null }],
  ];
  const writeAll = async (which: 2 | 3) => {
    const answers = await Promise.all(writes.map((write) => asManager(write[0], write[1], write[which])));
    expect(answers.map(({ status }) => status)).toEqual(writes.map(() => 200));
  };
  for (let round = 0; round < 3; round += 1) {
    await writeAll(2);
    for (const [, path, body] of writes) {
      if (path.startsWith('guardian')) continue;
      expect((await asManager('GET', path)).body).toMatchObject(body);
    }
    const { body: shown } = await asManager('GET', 'guardian/factors');
    for (const name of factors) expect(shown).toContainEqual(expect.objectContaining({ name, enabled: true }));
    await writeAll(3);
  }
});

describe('an Auth0 feature that is missing here', () => {
  test('is an empty list in each of Auth0’s formats', async () => {
    expect((await asManager('GET', 'rules')).body).toEqual([]);
    expect((await asManager('GET', 'rules?include_totals=true')).body).toMatchObject({ rules: [], total: 0, start: 0 });
    expect((await asManager('GET', 'organizations?take=10')).body).toEqual({ organizations: [] });
    expect((await asManager('GET', 'actions/actions')).body).toMatchObject({ actions: [], total: 0 });
    expect((await asManager('GET', 'clients?is_global=true')).body).toMatchObject([{ global: true }]);
  });

  test('cannot be set up, and the answer names it', async () => {
    expect(await asManager('POST', 'rules', { name: 'x', script: 'y' })).toMatchObject({
      status: 404,
      body: { statusCode: 404, error: 'Not Found' },
    });
    expect(await asManager('PATCH', 'attack-protection/breached-password-detection', { enabled: true })).toMatchObject({
      status: 404,
      body: { errorCode: 'feature_not_available', message: expect.stringContaining('BREACHED_PASSWORDS') },
    });
    expect((await asManager('GET', 'emails/provider')).status).toBe(404);
  });
});

describe('fields without effect', () => {
  const client = {
    initiate_login_uri: 'https://app.example/start',
    sso: true,
    jwt_configuration: { lifetime_in_seconds: 60, alg: 'RS256', secret_encoded: false },
    mobile: { ios: { team_id: 'T', app_bundle_identifier: 'com.example' } },
    addons: { azure_sb: { namespace: 'n', sasKey: 'key of the bus' } },
    organization_usage: 'deny',
    allowed_clients: ['web'],
  };

  test('of an application are stored, changed one by one, and removed by null', async () => {
    const grant_types = ['authorization_code', 'http://auth0.com/oauth/grant-type/mfa-otp'];
    const { status, body: made } = await asManager('POST', 'clients', { name: 'Kept', ...client, grant_types });
    expect([status, made]).toEqual([201, expect.objectContaining({ ...client, grant_types })]);
    const { client_id: id, client_secret: _, ...read } = made;
    // A body as it was read: what is read only is ignored, what is the same changes nothing.
    expect(await asManager('PATCH', `clients/${id}`, read)).toMatchObject({ status: 200, body: read });
    expect((await asManager('GET', `clients/${id}`)).body.updated_at).toBe(made.updated_at);
    const { body: changed } = await asManager('PATCH', `clients/${id}`, { sso: false, mobile: null, callbacks: null });
    const { mobile: _mobile, ...rest } = client;
    expect(changed).toMatchObject({ ...rest, sso: false });
    expect(changed).not.toHaveProperty('mobile');
    await asManager('DELETE', `clients/${id}`);
  });

  test.each([
    ['clients', { name: 'x', colour: 1 }, 'colour'],
    ['clients', { name: 'x', jwt_configuration: { colour: 1 } }, 'jwt_configuration.colour'],
    ['resource-servers', { identifier: 'urn:x', colour: 1 }, 'colour'],
    [
      'resource-servers',
      { identifier: 'urn:x', proof_of_possession: { mechanism: 'dpop', required: true, a: 1 } },
      'a',
    ],
    ['connections', { name: 'x', strategy: 'auth0', colour: 1 }, 'colour'],
  ])('are refused at POST %s if Auth0 has no such field: %j', async (path, body, name) => {
    expect(await asManager('POST', path, body)).toMatchObject({
      status: 400,
      body: {
        message: expect.stringContaining(
          `Additional properties not allowed: ${name === 'a' ? 'proof_of_possession.a' : name}`,
        ),
      },
    });
  });

  test('of APIs, connections and the tenant are stored as well', async () => {
    const api = {
      identifier: 'urn:kept',
      name: 'Kept',
      signing_secret: 'sixteen letters and more',
      enforce_policies: true,
      subject_type_authorization: { client: { policy: 'require_client_grant' } },
    };
    const { body: made } = await asManager('POST', 'resource-servers', api);
    expect(made).toMatchObject(api);
    expect(await asManager('PATCH', `resource-servers/${made.id}`, made)).toEqual({ status: 200, body: made });
    const connection = {
      name: 'Kept',
      strategy: 'auth0',
      display_name: 'Kept',
      metadata: { a: 'b' },
      options: { passwordPolicy: 'good', configuration: { key: 'the password of a database' } },
    };
    const { body: opened } = await asManager('POST', 'connections', connection);
    expect(opened).toMatchObject(connection);
    const tenant = {
      session_lifetime_in_minutes: 90,
      flags: { enable_sso: true },
      error_page: { url: 'https://e.example/' },
    };
    expect((await asManager('PATCH', 'tenants/settings', tenant)).body).toMatchObject({
      session_lifetime: 1.5,
      flags: tenant.flags,
    });
    await asManager('PATCH', 'tenants/settings', { flags: { revoke_refresh_token_grant: true } });
    expect((await asManager('GET', 'tenants/settings')).body).toMatchObject({
      flags: { enable_sso: true, revoke_refresh_token_grant: true },
      error_page: tenant.error_page,
    });
    await asManager('PATCH', 'tenants/settings', { flags: null, session_lifetime: null, error_page: null });

    // Secrets are sealed at rest, and shown to whoever may replace them.
    await asManager('PATCH', 'clients/web', { addons: client.addons });
    await using db = await connect();
    const { rows } = await db.query(`SELECT inert::text FROM auth.clients WHERE client_id = 'web' UNION ALL
      SELECT inert::text FROM auth.resource_servers UNION ALL SELECT options::text FROM auth.connections`);
    const stored = JSON.stringify(rows);
    expect(stored).toContain('$sealed');
    expect(stored).not.toMatch(/key of the bus|sixteen letters|password of a database/);
    const reader = `Bearer ${await tokenOf('reader')}`;
    const seen = await ask('GET', `connections/${opened.id}`, undefined, reader);
    expect(seen.body.options).toEqual({ disable_self_service_change_password: false, passwordPolicy: 'good' });
    expect((await ask('GET', `resource-servers/${made.id}`, undefined, reader)).body).not.toHaveProperty(
      'signing_secret',
    );
    await asManager('DELETE', `resource-servers/${made.id}`);
    await asManager('DELETE', `connections/${opened.id}`);
    await asManager('PATCH', 'clients/web', { addons: null });
  });
});

async function connect() {
  const client = new pg.Client({ connectionString: gate.databaseUrl });
  await client.connect();
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
}

describe('credentials of an application', () => {
  const keyPair = (type: 'RS256' | 'PS256' = 'RS256') => generateKeyPair(type, { extractable: true });
  const assertionBy = (key: CryptoKey, clientId: string, kid: string) =>
    new SignJWT({})
      .setProtectedHeader({ alg: 'RS256', kid })
      .setIssuer(clientId)
      .setSubject(clientId)
      .setAudience(gate.issuer)
      .setJti(randomUUID())
      .setIssuedAt()
      .setExpirationTime('1m')
      .sign(key);
  const askToken = async (key: CryptoKey, clientId: string, kid: string) =>
    gate.post('oauth/token', {
      grant_type: 'client_credentials',
      audience: api,
      client_id: clientId,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: await assertionBy(key, clientId, kid),
    });

  test('work once the application names them, until they expire, and one in use cannot be deleted', async () => {
    const [first, second] = [await keyPair(), await keyPair()];
    const { body: client } = await asManager('POST', 'clients', { name: 'Signs', app_type: 'non_interactive' });
    const id = client.client_id;
    await asManager('POST', 'client-grants', { client_id: id, audience: api, scope: ['read:x'] });
    const make = async (key: CryptoKey, name: string) =>
      (
        await asManager('POST', `clients/${id}/credentials`, {
          credential_type: 'public_key',
          name,
          pem: await exportSPKI(key),
        })
      ).body;
    const [a, b] = [await make(first.publicKey, 'first'), await make(second.publicKey, 'second')];
    expect(a).toMatchObject({
      id: expect.stringMatching(/^cred_/),
      name: 'first',
      alg: 'RS256',
      credential_type: 'public_key',
    });
    expect((await askToken(first.privateKey, id, a.kid)).status).toBe(401);

    const name = (...credentials: { id: string }[]) => ({
      client_authentication_methods: { private_key_jwt: { credentials: credentials.map((each) => ({ id: each.id })) } },
    });
    const editor = `Bearer ${await tokenOf('editor')}`;
    expect((await ask('PATCH', `clients/${id}`, name(a), editor)).status).toBe(403);
    const { body: named } = await asManager('PATCH', `clients/${id}`, name(a));
    expect(named).toMatchObject(name(a));
    expect(named).not.toHaveProperty('token_endpoint_auth_method');
    expect((await askToken(first.privateKey, id, a.kid)).status).toBe(200);
    expect((await askToken(second.privateKey, id, b.kid)).status).toBe(401);
    expect((await asManager('DELETE', `clients/${id}/credentials/${a.id}`)).status).toBe(409);
    // A body that was read changes nothing.
    expect((await asManager('PATCH', `clients/${id}`, named)).body.updated_at).toBe(named.updated_at);

    await asManager('PATCH', `clients/${id}`, name(a, b));
    expect((await askToken(second.privateKey, id, b.kid)).status).toBe(200);
    const ended = { expires_at: new Date(Date.now() - 1_000).toISOString() };
    expect((await asManager('PATCH', `clients/${id}/credentials/${b.id}`, ended)).body).toMatchObject(ended);
    expect((await askToken(second.privateKey, id, b.kid)).status).toBe(401);
    expect((await askToken(first.privateKey, id, a.kid)).status).toBe(200);

    const only = { token_endpoint_auth_method: 'client_secret_post' };
    expect((await asManager('PATCH', `clients/${id}`, only)).status).toBe(400);
    const secret = { client_authentication_methods: null, token_endpoint_auth_method: 'client_secret_post' };
    expect((await asManager('PATCH', `clients/${id}`, secret)).status).toBe(200);
    expect((await askToken(first.privateKey, id, a.kid)).status).toBe(401);
    expect((await asManager('DELETE', `clients/${id}/credentials/${a.id}`)).status).toBe(204);
    expect(
      (await asManager('GET', `clients/${id}/credentials`)).body.map((each: { name: string }) => each.name),
    ).toEqual(['second']);
  });

  test('can be created with the application, and anything but a public key is refused', async () => {
    const { publicKey, privateKey } = await keyPair();
    const credential = { credential_type: 'public_key', pem: await exportSPKI(publicKey), name: 'own' };
    const methods = (each: object) => ({ client_authentication_methods: { private_key_jwt: { credentials: [each] } } });
    const { status, body } = await asManager('POST', 'clients', { name: 'Signs', ...methods(credential) });
    expect([status, body]).toEqual([201, expect.objectContaining(methods({ id: expect.any(String) }))]);
    expect(body).not.toHaveProperty('client_secret');
    const path = `clients/${body.client_id}/credentials`;
    for (const pem of ['rubbish', await exportPKCS8(privateKey)])
      expect((await asManager('POST', path, { credential_type: 'public_key', pem })).status).toBe(400);
    expect((await asManager('POST', path, { credential_type: 'x509_cert', pem: credential.pem })).status).toBe(400);
    const kinds = [
      generateKeyPairSync('rsa-pss', { modulusLength: 2_048 }),
      generateKeyPairSync('ec', { namedCurve: 'brainpoolP256r1' }),
    ];
    for (const { publicKey: other } of kinds) {
      const pem = other.export({ type: 'spki', format: 'pem' });
      expect((await asManager('POST', path, { credential_type: 'public_key', pem })).status).toBe(400);
    }
    for (const expires_at of ['0000-01-01T00:00:00Z', '9999-12-31T23:59:59-01:00'])
      expect((await asManager('POST', path, { ...credential, expires_at })).status).toBe(400);
    expect((await asManager('POST', path, credential)).status).toBe(409);
  });
});
