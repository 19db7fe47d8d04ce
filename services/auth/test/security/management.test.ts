/** What a token for the management API can be turned into: never into more than its scopes say, and not for longer than they are granted. */
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { exportJWK, generateKeyPair } from 'jose';
import { openGate, type TestGate } from '../gate.ts';
import { api, machine, seed } from '../seeds.ts';

const scopesOf: Record<string, string[]> = {
  editor: ['read:clients', 'update:clients'],
  keeper: ['read:client_keys', 'update:client_keys'],
  granter: ['create:client_grants', 'update:client_grants', 'read:clients'],
  administrator: [
    'read:clients',
    'create:clients',
    'update:clients',
    'update:client_keys',
    'create:client_grants',
    'update:client_grants',
    'delete:client_grants',
    'delete:clients',
  ],
};

const stack = new AsyncDisposableStack();
let gate: TestGate;
let audience: string;
const { publicKey } = await generateKeyPair('RS256');
const publicJwk = { ...(await exportJWK(publicKey)), alg: 'RS256', use: 'sig', kid: 'k' };
beforeAll(async () => {
  gate = stack.use(
    await openGate((issuer: string) => ({
      ...seed,
      clients: [
        ...seed.clients,
        { ...machine, client_id: 'keyed', client_secret: undefined, jwks: { keys: [publicJwk] } },
        { client_id: 'open', grant_types: ['client_credentials'], client_grants: machine.client_grants },
        ...Object.entries(scopesOf).map(([client_id, scope]) => ({
          client_id,
          client_secret: `${client_id}-secret`,
          grant_types: ['client_credentials'],
          client_grants: [{ audience: `${issuer}api/v2/`, scope }],
        })),
      ],
    })),
  );
  audience = `${gate.issuer}api/v2/`;
});
afterAll(() => stack.disposeAsync());

const tokenOf = async (client_id: string, client_secret = `${client_id}-secret`, of = audience) =>
  gate.post('oauth/token', { grant_type: 'client_credentials', client_id, client_secret, audience: of });

async function ask(as: string, method: string, path: string, body?: object) {
  const { json } = await tokenOf(as);
  return askWith(json.access_token as string, method, path, body);
}

async function askWith(token: string, method: string, path: string, body?: object) {
  const response = await fetch(`${audience}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
}

const refused = (scope: string) => ({
  status: 403,
  body: { errorCode: 'insufficient_scope', message: `Insufficient scope, expected any of: ${scope}` },
});

describe('client keys', () => {
  test.each<[string, object]>([
    ['a secret', { client_secret: 'a secret of sixteen' }],
    ['a key', { jwks: { keys: [publicJwk] } }],
    ['no key', { jwks: null }],
    [
      'a method that needs a new secret',
      { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [publicJwk] } },
    ],
    ['no authentication at all', { token_endpoint_auth_method: 'none' }],
    ['another method', { token_endpoint_auth_method: 'client_secret_basic' }],
    ['a secret beside what it may change', { name: 'Machine', client_secret: 'a secret of sixteen' }],
  ])('update:clients cannot set %s, which would make its holder that client', async (_what, body) => {
    expect(await ask('editor', 'PATCH', 'clients/machine', body)).toMatchObject(refused('update:client_keys'));
    expect((await tokenOf('machine', 'machine-secret', api)).status).toBe(200);
    expect((await tokenOf('machine', 'a secret of sixteen', api)).status).toBe(401);
  });

  test('update:clients can change everything else, also with the unchanged authentication method in the body', async () => {
    const body = { name: 'Machine', token_endpoint_auth_method: 'client_secret_post' };
    const changed = await ask('editor', 'PATCH', 'clients/machine', body);
    expect(changed).toMatchObject({ status: 200, body: { name: 'Machine' } });
    expect(changed.body).not.toHaveProperty('client_secret');
  });

  test('update:client_keys replaces a secret and nothing else', async () => {
    const secret = { client_secret: 'another secret of the keeper' };
    expect(await ask('keeper', 'PATCH', 'clients/web', { ...secret, name: 'x' })).toMatchObject(
      refused('update:clients'),
    );
    expect(await ask('keeper', 'PATCH', 'clients/web', secret)).toMatchObject({ status: 200, body: secret });
    expect((await ask('editor', 'POST', 'clients/web/rotate-secret', {})).status).toBe(403);
    expect((await ask('keeper', 'POST', 'clients/web/rotate-secret', {})).status).toBe(200);
  });

  test('can be read with read:client_keys only', async () => {
    const jwks = { keys: [publicJwk] };
    expect((await ask('keeper', 'GET', 'clients/keyed')).body).toMatchObject({ jwks });
    expect((await ask('editor', 'GET', 'clients/keyed')).body).not.toHaveProperty('jwks');
    const { body } = await ask('editor', 'GET', 'clients?fields=client_id,jwks');
    expect(body).toContainEqual({ client_id: 'keyed' });
    expect(JSON.stringify(body)).not.toContain('jwks');
  });

  test('are needed for client_credentials, which a public client cannot use (RFC 6749 4.4)', async () => {
    const answer = await gate.post('oauth/token', {
      grant_type: 'client_credentials',
      client_id: 'open',
      audience: api,
    });
    expect(answer).toMatchObject({ status: 400, json: { error: 'unauthorized_client' } });
  });
});

test('and implicit grants, whose tokens go to the redirect URI, cannot be set for a client on an http address', async () => {
  const callbacks = ['http://intranet.example/cb'];
  const make = (body: object) => ask('administrator', 'POST', 'clients', { name: 'Plain', callbacks, ...body });
  expect((await make({ grant_types: ['authorization_code', 'implicit'] })).status).toBe(400);
  expect((await make({ grant_types: ['implicit'], callbacks: ['http://127.0.0.1/cb'] })).status).toBe(201);
  const { status, body } = await make({});
  expect([status, body.grant_types.includes('implicit')]).toEqual([201, false]);
  const change = (more: object) => ask('administrator', 'PATCH', `clients/${body.client_id}`, more);
  expect((await change({ grant_types: ['authorization_code', 'implicit'] })).status).toBe(400);
  const secure = { grant_types: ['authorization_code', 'implicit'], callbacks: ['https://intranet.example/cb'] };
  expect((await change(secure)).status).toBe(200);
  expect((await change({ callbacks })).status).toBe(400);
});

describe('client grants', () => {
  test('to users through refresh token policies cannot exceed the caller’s own scopes for the management API', async () => {
    const policies = (scope: string[], of = audience) => ({ refresh_token: { policies: [{ audience: of, scope }] } });
    for (const request of [
      ask('editor', 'PATCH', 'clients/spa', policies(['read:clients', 'update:users'])),
      ask('administrator', 'POST', 'clients', { name: 'x', ...policies(['update:users']) }),
    ])
      expect(await request).toMatchObject({ status: 403, body: { errorCode: 'insufficient_scope' } });
    const held = await ask('editor', 'PATCH', 'clients/spa', policies(['read:clients', 'update:clients']));
    expect(held.status).toBe(200);
    // What stands there may be sent back by whoever holds less, and another API is not its business.
    expect((await ask('administrator', 'PATCH', 'clients/spa', policies(['read:clients']))).status).toBe(200);
    expect((await ask('editor', 'PATCH', 'clients/spa', policies(['admin:x'], api))).status).toBe(200);
    await ask('editor', 'PATCH', 'clients/spa', { refresh_token: null });
  });

  test('of the management API can be given only by a holder of their scopes, to itself and to others', async () => {
    const beyond = { audience, scope: ['read:clients', 'update:client_keys'] };
    for (const client_id of ['granter', 'machine'])
      expect(await ask('granter', 'POST', 'client-grants', { ...beyond, client_id })).toMatchObject(
        refused('update:client_keys'),
      );
    const made = await ask('granter', 'POST', 'client-grants', {
      client_id: 'machine',
      audience,
      scope: ['read:clients'],
    });
    expect(made.status).toBe(201);
    const path = `client-grants/${made.body.id}`;
    expect(await ask('granter', 'PATCH', path, { scope: ['read:clients', 'update:client_keys'] })).toMatchObject(
      refused('update:client_keys'),
    );
    expect((await ask('administrator', 'PATCH', path, { scope: ['read:clients', 'update:client_keys'] })).status).toBe(
      200,
    );
    // What was granted by somebody who could is kept by those who could not.
    const kept = { scope: ['update:client_keys', 'create:client_grants'] };
    expect((await ask('granter', 'PATCH', path, kept)).status).toBe(200);
    expect((await ask('granter', 'PATCH', path, { scope: [] })).status).toBe(200);
  });

  test('of other APIs can be given freely', async () => {
    const given = { client_id: 'web', audience: api, scope: ['admin:x'] };
    expect((await ask('granter', 'POST', 'client-grants', given)).status).toBe(201);
  });
});

describe('a management token in use', () => {
  /** A client with a grant for the management API, and a token that opens it. */
  async function holder(scope = ['read:clients', 'update:clients']) {
    const { body: client } = await ask('administrator', 'POST', 'clients', {
      name: 'Holder',
      grant_types: ['client_credentials'],
    });
    const given = { client_id: client.client_id, audience, scope };
    const { body: grant } = await ask('administrator', 'POST', 'client-grants', given);
    const { json } = await tokenOf(client.client_id, client.client_secret);
    const token = json.access_token as string;
    expect((await askWith(token, 'GET', 'clients?per_page=1')).status).toBe(200);
    return { id: client.client_id as string, secret: client.client_secret as string, grant: grant.id as string, token };
  }
  const open = (token: string) => askWith(token, 'GET', 'clients?per_page=1');
  const closed = (token: string) => until('the token is refused', async () => (await open(token)).status === 401);

  test('stops working once it is revoked', async () => {
    const { id, secret, token } = await holder();
    await gate.post('oauth/revoke', { token, client_id: id, client_secret: secret });
    expect(await open(token)).toMatchObject({ status: 401, body: { errorCode: 'invalid_token' } });
  });

  test('keeps only the scopes that its client’s grant still has, or none', async () => {
    const { grant, token } = await holder();
    await ask('administrator', 'PATCH', `client-grants/${grant}`, { scope: ['read:clients'] });
    const change = async () => (await askWith(token, 'PATCH', 'clients/web', { name: 'x' })).status;
    await until('the scope is gone', async () => (await change()) === 403);
    expect((await open(token)).status).toBe(200);
    await ask('administrator', 'DELETE', `client-grants/${grant}`);
    await closed(token);
  });

  test('stops working once its client is deleted or may not request such tokens', async () => {
    const [gone, changed, opened] = [await holder(), await holder(), await holder()];
    await ask('administrator', 'DELETE', `clients/${gone.id}`);
    await ask('administrator', 'PATCH', `clients/${changed.id}`, { grant_types: [] });
    await ask('administrator', 'PATCH', `clients/${opened.id}`, { token_endpoint_auth_method: 'none' });
    for (const { token } of [gone, changed, opened]) await closed(token);
  });

  test('stops working within 5 s, even if no change of the grant is announced', async () => {
    const { grant, token } = await holder();
    await gate.pool.query('ALTER TABLE auth.client_grants DISABLE TRIGGER changed');
    await gate.pool.query('DELETE FROM auth.client_grants WHERE id = $1', [grant]);
    await gate.pool.query('ALTER TABLE auth.client_grants ENABLE TRIGGER changed');
    await closed(token);
  });
});
