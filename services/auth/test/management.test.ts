/** The management API as its users meet it: through the `auth0` package, unmodified, and by bare HTTP where it has no word. */

import { Browser } from '@gatepost/testkit/browser';
import { pkce } from '@gatepost/testkit/pkce';
import { until } from '@gatepost/testkit/until';
import { afterAll, describe, expect, test } from '@jest/globals';
import { type Management, ManagementClient } from 'auth0';
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose';
import { managementApi } from '../src/resources/management-api.ts';
import { openGate } from './gate.ts';
import { alice, api, connections, seed } from './seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());

const allScopes = managementApi('').scopes.map(({ value }) => value);
const scopesOf: Record<string, string[]> = {
  manager: allScopes,
  reader: allScopes.filter((scope) => scope.startsWith('read:')),
  nobody: [],
};
const carol = {
  ...alice,
  user_id: 'auth0|carol',
  email: 'carol@example.com',
  phone_number: '+15555550103',
  name: 'Carol',
};
const gate = stack.use(
  await openGate((issuer: string) => ({
    ...seed,
    users: [...seed.users, carol],
    connections,
    clients: [
      ...seed.clients,
      ...Object.entries(scopesOf).map(([client_id, scope]) => ({
        client_id,
        client_secret: `${client_id}-secret`,
        grant_types: ['client_credentials'],
        client_grants: [{ audience: `${issuer}api/v2/`, scope }],
      })),
    ],
  })),
);
const { issuer } = gate;
const audience = `${issuer}api/v2/`;

/** The package speaks https only; its `fetch` option leads it to our loopback port. */
const plainly: typeof fetch = (url, init) => fetch(String(url).replace('https://', 'http://'), init);
const clientOf = (clientId: string) =>
  new ManagementClient({
    domain: new URL(issuer).host,
    clientId,
    clientSecret: `${clientId}-secret`,
    audience,
    fetch: plainly,
    maxRetries: 0,
  });
const auth0 = clientOf('manager');

async function tokenOf(clientId: string, form: Record<string, string> = {}): Promise<string> {
  const answer = await gate.post('oauth/token', {
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: `${clientId}-secret`,
    audience,
    ...form,
  });
  return answer.json.access_token as string;
}

/** By bare HTTP. */
async function ask(method: string, path: string, body?: unknown, token?: string) {
  const authorization = token ?? `Bearer ${await tokenOf('manager')}`;
  const response = await fetch(`${audience}${path}`, {
    method,
    headers: { ...(authorization !== 'none' && { authorization }), 'content-type': 'application/json' },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
}

const refusal = (status: number, errorCode?: string) =>
  expect.objectContaining({
    statusCode: status,
    ...(errorCode && { body: expect.objectContaining({ statusCode: status, errorCode }) }),
  });

/** Logs somebody in to the web application and comes back with tokens. */
async function signIn(browser: Browser, email: string) {
  const proof = pkce();
  const request = {
    client_id: 'third',
    redirect_uri: 'https://app.example/cb',
    response_type: 'code',
    scope: 'openid email offline_access',
    audience: api,
    ...proof,
  };
  let page = await browser.logIn(await browser.authorize(request), email);
  if (page.location === undefined) page = await browser.submit(page, { action: 'default' });
  const code = page.location?.searchParams.get('code') ?? '';
  const { json } = await gate.post('oauth/token', {
    grant_type: 'authorization_code',
    client_id: 'third',
    client_secret: 'third-secret',
    code,
    redirect_uri: request.redirect_uri,
    code_verifier: proof.code_verifier,
  });
  return { request, accessToken: json.access_token as string, refreshToken: json.refresh_token as string };
}

const refresh = (refreshToken: string) =>
  gate.post('oauth/token', {
    grant_type: 'refresh_token',
    client_id: 'third',
    client_secret: 'third-secret',
    refresh_token: refreshToken,
  });
const userinfo = (accessToken: string) => gate.get('userinfo', { authorization: `Bearer ${accessToken}` });

async function all<T>(pages: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of pages) items.push(item);
  return items;
}

describe('access', () => {
  test.each([
    ['no token', 'none'],
    ['another scheme', 'Basic abc'],
    ['rubbish', 'Bearer a.b.c'],
  ])('is refused with %s', async (_, authorization) => {
    expect(await ask('GET', 'clients', undefined, authorization)).toMatchObject({
      status: 401,
      body: { statusCode: 401, error: 'Unauthorized', message: expect.any(String) },
    });
  });

  test('is refused with a token for another API', async () => {
    const { json } = await gate.post('oauth/token', {
      grant_type: 'client_credentials',
      client_id: 'machine',
      client_secret: 'machine-secret',
      audience: api,
    });
    expect(await ask('GET', 'clients', undefined, `Bearer ${json.access_token}`)).toMatchObject({
      status: 401,
      body: { message: 'Bad audience' },
    });
  });

  test('sec-105-scopes: each operation wants a scope of its own, and a client without it is told which', async () => {
    const reader = clientOf('reader');
    await all(await reader.clients.list());
    await expect(reader.clients.create({ name: 'x' })).rejects.toEqual(refusal(403, 'insufficient_scope'));
    const token = `Bearer ${await tokenOf('nobody')}`;
    const operations: [string, string][] = [
      ...[
        'clients',
        'client-grants',
        'resource-servers',
        'users',
        'connections',
        'device-credentials',
        'grants',
        'logs',
      ].map((path): [string, string] => ['GET', path]),
      ['GET', 'users-by-email?email=a@b.c'],
      ['GET', 'branding/templates/universal-login'],
      ['GET', 'tenants/settings'],
      ['GET', 'keys/signing'],
      ['PATCH', 'users/auth0%7Calice'],
      ['POST', 'keys/signing/rotate'],
      ['POST', 'registration-tokens'],
      ['DELETE', 'clients/web'],
    ];
    for (const [method, path] of operations)
      expect(await ask(method, path, undefined, token)).toMatchObject({
        status: 403,
        body: { errorCode: 'insufficient_scope' },
      });
  });

  test.each([
    ['POST', 'clients', '{"name":', 400],
    ['POST', 'clients', { name: 'x', secretHashes: ['y'] }, 400],
    ['POST', 'clients', { name: 'x', __proto__: 1, constructor: 2 }, 400],
    ['POST', 'clients', { name: 'nul\0' }, 400],
    ['POST', 'clients', `{"name":"${' '.repeat(600_000)}"}`, 413],
    ['POST', 'clients', [], 400],
    ['PATCH', 'users/auth0%7Calice', { user_id: 'auth0|bob' }, 400],
    ['GET', 'clients?page=-1', undefined, 400],
    ['GET', 'clients?per_page=1000', undefined, 400],
    ['GET', 'clients?page=100&per_page=100', undefined, 400],
    ['GET', 'clients?take=10&from=!', undefined, 400],
    ['GET', 'users?q=password:x', undefined, 400],
    ['GET', 'users?sort=password_hash:1', undefined, 400],
    ['GET', 'logs?from=99999999999999999999', undefined, 400],
    ['GET', 'nothing', undefined, 404],
    ['GET', 'clients/nobody-here', undefined, 404],
  ])('%s %s with bad input is answered in kind', async (method, path, body, status) => {
    expect(await ask(method, path, body)).toMatchObject({
      status,
      body: { statusCode: status, message: expect.any(String) },
    });
  });
});

test('no operation fails on what it does not expect: nonsense in its path, query and body is refused or ignored', async () => {
  const token = `Bearer ${await tokenOf('manager')}`;
  const nonsense: unknown[] = [
    null,
    [],
    'text',
    7,
    { a: 1 },
    { name: {} },
    { scope: [null] },
    { scopes: [{ value: 'a b' }] },
    { name: 'x', client_metadata: { a: '\ud800' } },
    { connection: 'email', email: 'a@b.example', user_metadata: { a: { b: '\udfff' } } },
    `{"connection":"x","user_metadata":${'['.repeat(20_000)}${']'.repeat(20_000)}}`,
    { ttl_sec: 1e308, token_lifetime: -1, default_audience: 'x'.repeat(5_000), template: '{{' },
    { identifier: '\u{1F600}'.repeat(500), token_lifetime: 1e9 },
  ];
  const paths = [
    ...['clients', 'client-grants', 'resource-servers', 'users', 'connections', 'device-credentials', 'grants', 'logs'],
    ...[
      'keys/signing',
      'users-by-email',
      'tenants/settings',
      'branding/templates/universal-login',
      'registration-tokens',
    ],
  ];
  const ids = [
    '',
    '/none',
    '/%F0%9F%98%80',
    `/${'x'.repeat(3_000)}`,
    "/'%20OR%201=1--",
    '/__proto__',
    '/-1',
    '/9999999999999999999',
  ];
  const queries = [
    '',
    '?page=0&page=1',
    '?fields=__proto__,constructor&include_fields=false',
    '?q=%22&sort=a&from=x&take=0',
    '?user_id[]=x',
  ];
  const failed: string[] = [];
  for (const path of paths)
    for (const id of ids) {
      const asks = [
        ...queries.map((query) => ['GET', `${path}${id}${query}`, undefined] as const),
        ...(id === '' ? nonsense.map((body) => ['POST', path, body] as const) : []),
        ...(id === '/none' ? nonsense.map((body) => ['PATCH', `${path}${id}`, body] as const) : []),
        ...(path.includes('/') ? nonsense.map((body) => ['PUT', path, body] as const) : []),
      ];
      for (const [method, target, body] of asks) {
        const { status } = await ask(method, target, body, token);
        if (status >= 500)
          failed.push(`${status} ${method} ${target.slice(0, 80)} ${JSON.stringify(body)?.slice(0, 80)}`);
      }
    }
  expect(failed).toEqual([]);
});

describe('clients', () => {
  test('are created with a secret that works, read without it, changed, listed and deleted', async () => {
    const made = await auth0.clients.create({
      name: 'Made',
      app_type: 'regular_web',
      callbacks: ['https://made.example/cb'],
      grant_types: ['authorization_code', 'client_credentials'],
      client_metadata: { team: 'blue', old: 'x' },
    });
    const id = made.client_id as string;
    expect(made).toMatchObject({
      name: 'Made',
      is_first_party: true,
      token_endpoint_auth_method: 'client_secret_post',
    });
    await auth0.clientGrants.create({ client_id: id, audience: api, scope: ['read:x'] });
    const token = (secret = '') =>
      gate.post('oauth/token', {
        grant_type: 'client_credentials',
        client_id: id,
        client_secret: secret,
        audience: api,
      });
    expect(await token(made.client_secret)).toMatchObject({ status: 200, json: { scope: 'read:x' } });
    expect(await token('wrong')).toMatchObject({ status: 401 });

    const changed = await auth0.clients.update(id, {
      name: 'Changed',
      client_metadata: { old: null, new: 'y' } as unknown as Management.ClientMetadata,
      refresh_token: { rotation_type: 'rotating', expiration_type: 'expiring', leeway: 5 },
    });
    expect(changed).toMatchObject({
      name: 'Changed',
      client_metadata: { team: 'blue', new: 'y' },
      refresh_token: { leeway: 5 },
    });
    expect(changed).not.toHaveProperty('client_secret');
    expect(changed.client_metadata).not.toHaveProperty('old');
    expect((await auth0.clients.get(id)).callbacks).toEqual(['https://made.example/cb']);
    expect(await auth0.clients.get(id, { fields: 'name,client_id' })).toEqual({ name: 'Changed', client_id: id });

    const rotated = await auth0.clients.rotateSecret(id);
    expect((await token(made.client_secret)).status).toBe(200);
    expect((await token(rotated.client_secret)).status).toBe(200);
    const again = await auth0.clients.rotateSecret(id);
    expect((await token(made.client_secret)).status).toBe(401);
    const { body } = await ask('POST', `clients/${id}/rotate-secret`, { revoke_previous: true });
    expect((await token(again.client_secret)).status).toBe(401);
    expect((await token(body.client_secret)).status).toBe(200);

    await auth0.clients.delete(id);
    await expect(auth0.clients.get(id)).rejects.toEqual(refusal(404, 'inexistent_client'));
    expect((await token(body.client_secret)).status).toBe(401);
  });

  test('become public and confidential again, and lose what is set to null', async () => {
    const made = await auth0.clients.create({
      name: 'Turning',
      callbacks: ['https://turning.example/cb'],
      refresh_token: { rotation_type: 'rotating', expiration_type: 'expiring' },
    });
    const id = made.client_id as string;
    const open = await auth0.clients.update(id, {
      token_endpoint_auth_method: 'none' as Management.ClientTokenEndpointAuthMethodOrNullEnum,
    });
    expect(open).not.toHaveProperty('client_secret');
    const closed = await auth0.clients.update(id, {
      token_endpoint_auth_method: 'client_secret_basic' as Management.ClientTokenEndpointAuthMethodOrNullEnum,
    });
    expect(closed.client_secret).not.toBe(made.client_secret);
    expect(closed.client_secret).toEqual(expect.any(String));
    const { status, body } = await ask('PATCH', `clients/${id}`, {
      refresh_token: null,
      jwks: null,
      description: null,
    });
    expect(status).toBe(200);
    expect(body).not.toHaveProperty('refresh_token');
    expect(body).not.toHaveProperty('client_secret');
    expect(
      (await ask('PATCH', `clients/${id}`, { token_endpoint_auth_method: 'none', client_secret: 'x'.repeat(20) }))
        .status,
    ).toBe(400);
  });

  test('are paged by number, with and without totals, and by checkpoint', async () => {
    const page = await auth0.clients.list({ per_page: 2 });
    expect(page.data).toHaveLength(2);
    const everyone = await all(page);
    expect(everyone.map(({ client_id }) => client_id)).toEqual(
      expect.arrayContaining(['web', 'spa', 'manager', 'machine']),
    );
    expect((await ask('GET', 'clients?per_page=2')).body).toHaveLength(2);
    const { body } = await ask('GET', 'clients?per_page=2&page=1&include_totals=true');
    expect(body).toMatchObject({ start: 2, limit: 2, length: 2, total: everyone.length });
    const seen: string[] = [];
    for (let from = ''; ; ) {
      const { body: part } = await ask('GET', `clients?take=3${from}&fields=client_id`);
      seen.push(...part.clients.map((client: { client_id: string }) => client.client_id));
      if (part.next === undefined) break;
      from = `&from=${part.next}`;
    }
    expect(seen).toEqual(everyone.map(({ client_id }) => client_id));
    expect(
      (await ask('GET', 'clients?app_type=spa')).body.map((each: { client_id: string }) => each.client_id),
    ).toEqual(['spa']);
  });

  test.each([
    [{ callbacks: ['javascript:alert(1)'] }],
    [{ callbacks: ['https://app.example/cb#fragment'] }],
    [{ callbacks: ['https://*.example.com/cb'] }],
    [{ callbacks: ['/relative'] }],
    [{ allowed_logout_urls: ['data:text/html,x'] }],
    [{ web_origins: ['https://app.example/path'] }],
    [{ web_origins: ['*'] }],
    [{ grant_types: ['magic'] }],
    [{ token_endpoint_auth_method: 'private_key_jwt' }],
    [{ name: '' }],
  ])('are refused with %j', async (given) => {
    expect(await ask('POST', 'clients', { name: 'Bad', ...given })).toMatchObject({
      status: 400,
      body: { errorCode: 'invalid_body', error: 'Bad Request' },
    });
  });
});

test('client-grants: created, changed, listed and deleted; scopes that the API lacks and a second grant are refused', async () => {
  const made = await auth0.clientGrants.create({ client_id: 'web', audience: api, scope: ['read:x'] });
  const id = made.id as string;
  expect(made).toMatchObject({ client_id: 'web', audience: api, scope: ['read:x'] });
  await expect(auth0.clientGrants.create({ client_id: 'web', audience: api, scope: [] })).rejects.toEqual(
    refusal(409, 'resource_exists'),
  );
  expect((await auth0.clientGrants.update(id, { scope: ['read:x', 'write:x'] })).scope).toEqual(['read:x', 'write:x']);
  await expect(auth0.clientGrants.update(id, { scope: ['no:such'] })).rejects.toEqual(refusal(400, 'invalid_body'));
  await expect(auth0.clientGrants.create({ client_id: 'web', audience: 'urn:none' })).rejects.toEqual(refusal(404));
  expect((await all(await auth0.clientGrants.list({ client_id: 'web' }))).map((grant) => grant.id)).toEqual([id]);
  expect((await all(await auth0.clientGrants.list({ take: 1 }))).length).toBeGreaterThan(3);
  await auth0.clientGrants.delete(id);
  await expect(auth0.clientGrants.get(id)).rejects.toEqual(refusal(404));
});

test('resource-servers: created, found by id and identifier, changed and deleted with their grants; ours cannot be', async () => {
  const made = await auth0.resourceServers.create({
    identifier: 'https://made.example/api?x=1',
    name: 'Made',
    scopes: [{ value: 'read:it', description: 'Read it' }],
    signing_alg: 'ES256' as Management.SigningAlgorithmEnum,
    token_lifetime: 120,
  });
  expect(made).toMatchObject({ is_system: false, token_lifetime: 120, signing_alg: 'ES256' });
  await auth0.clientGrants.create({ client_id: 'machine', audience: made.identifier as string, scope: ['read:it'] });
  const machine = { client_id: 'machine', client_secret: 'machine-secret' };
  const token = () =>
    gate.post('oauth/token', {
      grant_type: 'client_credentials',
      ...machine,
      audience: made.identifier as string,
    });
  expect(await token()).toMatchObject({ status: 200, json: { expires_in: 120 } });
  expect((await auth0.resourceServers.get(made.identifier as string)).id).toBe(made.id);
  expect((await auth0.resourceServers.update(made.id as string, { token_lifetime: 60 })).token_lifetime).toBe(60);
  expect(await token()).toMatchObject({ json: { expires_in: 60 } });
  await expect(auth0.resourceServers.create({ identifier: api })).rejects.toEqual(refusal(409, 'resource_conflict'));
  // What the tokens look like, by Auth0's names; all of them open what an access token opens.
  expect(made.token_dialect).toBe('access_token');
  for (const [token_dialect, typ] of [
    ['access_token_authz', 'JWT'],
    ['rfc9068_profile', 'at+jwt'],
    ['rfc9068_profile_authz', 'at+jwt'],
  ] as const) {
    await auth0.resourceServers.update(made.id as string, { token_dialect });
    const { access_token } = (await token()).json as { access_token: string };
    expect(decodeProtectedHeader(access_token).typ).toBe(typ);
    expect(decodeJwt(access_token).permissions).toEqual(token_dialect.endsWith('_authz') ? ['read:it'] : undefined);
    expect(await gate.post('oauth/introspect', { token: access_token, ...machine })).toMatchObject({
      json: { active: true, aud: made.identifier },
    });
  }
  const names = (await all(await auth0.resourceServers.list({ per_page: 2 }))).map(({ identifier }) => identifier);
  expect(names).toEqual(expect.arrayContaining([audience, api, made.identifier]));
  await expect(auth0.resourceServers.delete(audience)).rejects.toEqual(refusal(403));
  await auth0.resourceServers.delete(made.id as string);
  expect((await token()).status).toBe(400);
  expect(await all(await auth0.clientGrants.list({ audience: made.identifier as string }))).toEqual([]);
});

describe('users', () => {
  test('are created, found, searched, changed and deleted', async () => {
    const made = await auth0.users.create({
      connection: 'Username-Password-Authentication',
      email: 'Dave@Example.com',
      password: 'a long enough secret',
      user_metadata: { colour: 'green', size: 1 },
      app_metadata: { plan: 'free' },
    });
    const id = made.user_id as string;
    expect(made).toMatchObject({
      email: 'dave@example.com',
      email_verified: false,
      name: 'dave@example.com',
      nickname: 'dave',
      identities: [
        { connection: 'Username-Password-Authentication', provider: 'auth0', user_id: id.slice(6), isSocial: false },
      ],
    });
    expect(JSON.stringify(made)).not.toContain('argon2');
    expect(await auth0.users.listUsersByEmail({ email: 'DAVE@example.com' })).toEqual([
      expect.objectContaining({ user_id: id }),
    ]);
    const search = async (q: string) => (await auth0.users.list({ q })).data.map(({ user_id }) => user_id);
    expect(await search('email:"dave@example.com"')).toEqual([id]);
    expect(await search('email:dave* AND email_verified:false')).toEqual([id]);
    expect(await search('email:dave* AND NOT email_verified:false')).toEqual([]);
    expect(await search('(name:carol OR email:dave*) -blocked:true')).toEqual(['auth0|carol', id]);
    expect((await auth0.users.list({ sort: 'email:-1', per_page: 1 })).data[0]?.user_id).toBe(id);

    const changed = await auth0.users.update(id, { user_metadata: { size: null, shape: 'round' }, name: 'Dave' });
    expect(changed).toMatchObject({
      name: 'Dave',
      user_metadata: { colour: 'green', shape: 'round' },
      app_metadata: { plan: 'free' },
    });
    expect(changed.user_metadata).not.toHaveProperty('size');
    await expect(
      auth0.users.create({
        connection: 'Username-Password-Authentication',
        email: 'dave@example.com',
        password: 'a long enough secret',
      }),
    ).rejects.toEqual(refusal(409, 'auth0_idp_error'));
    await expect(auth0.users.update(id, { email: 'alice@example.com' })).rejects.toEqual(refusal(400, 'invalid_body'));
    await expect(auth0.users.update(id, { password: 'short' })).rejects.toEqual(refusal(400, 'invalid_password'));
    await expect(auth0.users.create({ connection: 'none', email: 'x@example.com' })).rejects.toEqual(
      refusal(404, 'inexistent_connection'),
    );
    await auth0.users.delete(id);
    await expect(auth0.users.get(id)).rejects.toEqual(refusal(404, 'inexistent_user'));
  });

  test('who are blocked lose their session, refresh tokens and userinfo at once, and do not get them back', async () => {
    const browser = new Browser(gate);
    const { request, accessToken, refreshToken } = await signIn(browser, 'carol@example.com');
    expect((await userinfo(accessToken)).json).toMatchObject({ sub: 'auth0|carol' });
    expect((await auth0.users.update('auth0|carol', { blocked: true })).blocked).toBe(true);
    expect((await userinfo(accessToken)).status).toBe(401);
    expect(await refresh(refreshToken)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
    const silent = await browser.authorize({ ...request, ...pkce(), prompt: 'none' });
    expect(silent.location?.searchParams.get('error')).toBe('login_required');
    await auth0.users.update('auth0|carol', { blocked: false });
    expect((await userinfo(accessToken)).status).toBe(401);
    expect((await refresh(refreshToken)).status).toBe(400);
    const later = await browser.authorize({ ...request, ...pkce(), prompt: 'none' });
    expect(later.location?.searchParams.get('error')).toBe('login_required');
    const again = await signIn(new Browser(gate), 'carol@example.com');
    expect((await userinfo(again.accessToken)).status).toBe(200);
    await auth0.users.update('auth0|carol', { password: 'an entirely new secret' });
    expect((await userinfo(again.accessToken)).status).toBe(401);
  });
});

test('users: revoke-access ends what somebody has, and his log tells of his logins', async () => {
  const browser = new Browser(gate);
  const { request, accessToken, refreshToken } = await signIn(browser, 'bob@example.com');
  expect((await ask('POST', 'users/auth0%7Cbob/revoke-access', {})).status).toBe(202);
  expect((await refresh(refreshToken)).status).toBe(400);
  expect((await userinfo(accessToken)).status).toBe(401);
  const silent = await browser.authorize({ ...request, ...pkce(), prompt: 'none' });
  expect(silent.location?.searchParams.get('error')).toBe('login_required');
  const entries = await until('the login', async () => {
    const found = await all(await auth0.users.logs.list('auth0|bob'));
    return found.some(({ type }) => type === 's') && found;
  });
  expect(new Set(entries.map(({ user_id }) => user_id))).toEqual(new Set(['auth0|bob']));
});

test('device-credentials and grants: what a person gave is listed, and ends when it is taken away', async () => {
  const first = await signIn(new Browser(gate), 'bob@example.com');
  const devices = await all(await auth0.deviceCredentials.list({ user_id: 'auth0|bob', type: 'refresh_token' }));
  expect(devices).toEqual([
    expect.objectContaining({ client_id: 'third', user_id: 'auth0|bob', type: 'refresh_token' }),
  ]);
  await auth0.deviceCredentials.delete(devices[0]?.id as string);
  expect((await refresh(first.refreshToken)).status).toBe(400);
  expect(await all(await auth0.deviceCredentials.list({ user_id: 'auth0|bob' }))).toEqual([]);

  const second = await signIn(new Browser(gate), 'bob@example.com');
  const grants = await all(await auth0.userGrants.list({ user_id: 'auth0|bob' }));
  const grant = grants.find((each) => each.audience === api);
  expect(grants.map(({ clientID }) => clientID)).toEqual(grants.map(() => 'third'));
  expect(grants.flatMap(({ scope }) => scope)).toContain('email');
  await auth0.userGrants.delete((grant ?? grants[0])?.id as string);
  expect((await refresh(second.refreshToken)).status).toBe(400);
  expect((await userinfo(second.accessToken)).status).toBe(401);
  await auth0.userGrants.deleteByUserId({ user_id: 'auth0|bob' });
  expect(await all(await auth0.userGrants.list({ user_id: 'auth0|bob' }))).toEqual([]);
});

test('connections: created, listed, changed and deleted with their accounts', async () => {
  const made = await auth0.connections.create({ name: 'Partners', strategy: 'auth0' });
  const id = made.id as string;
  await auth0.users.create({ connection: 'Partners', email: 'p@example.com', password: 'a long enough secret' });
  await expect(auth0.connections.create({ name: 'Partners', strategy: 'auth0' })).rejects.toEqual(refusal(409));
  expect(await all(await auth0.connections.list({ strategy: ['email', 'sms'] }))).toHaveLength(2);
  expect(await all(await auth0.connections.list({ take: 1 }))).toHaveLength(4);
  expect((await auth0.connections.get(id)).name).toBe('Partners');
  const options = { disable_signup: true };
  expect((await auth0.connections.update(id, { options })).options).toEqual(options);
  await auth0.connections.delete(id);
  await expect(auth0.connections.get(id)).rejects.toEqual(refusal(404));
  expect(await auth0.users.listUsersByEmail({ email: 'p@example.com' })).toEqual([]);
});

test('logs: what happened, with who asked for it, newest first, and from a checkpoint', async () => {
  await auth0.connections.create({ name: 'Logged', strategy: 'auth0' });
  const entry = await until('the entry', async () =>
    (await auth0.logs.list({ search: 'type:sapi AND client_id:manager' })).data.find(
      ({ details }) => (details as { operation?: string }).operation === 'POST api/v2/connections',
    ),
  );
  expect(entry).toMatchObject({
    type: 'sapi',
    client_id: 'manager',
    description: 'API Operation',
    ip: expect.any(String),
  });
  expect(await auth0.logs.get(entry.log_id as string)).toMatchObject({ log_id: entry.log_id });
  const { body } = await ask('GET', `logs?take=100`);
  expect(body[0].log_id < body[1].log_id).toBe(true);
  const { body: after } = await ask('GET', `logs?from=${body[0].log_id}&take=1`);
  expect(after[0].log_id).toBe(body[1].log_id);
  expect(JSON.stringify(body)).not.toMatch(/manager-secret|Bearer|eyJ/);
});

test('sec-104-management: pages of the token’s own client may read answers, no others, and never with credentials', async () => {
  const origin = 'https://console.example';
  await auth0.clients.update('manager', { web_origins: [origin] });
  const authorization = `Bearer ${await tokenOf('manager')}`;
  const allowed = async (from: string, init: RequestInit = { headers: { authorization, origin: from } }) => {
    const { headers } = await fetch(`${audience}clients?take=1`, init);
    expect(headers.get('access-control-allow-credentials')).toBeNull();
    expect(headers.get('vary')).toMatch(/origin/i);
    return headers.get('access-control-allow-origin');
  };
  expect(await allowed(origin)).toBe(origin);
  expect(await allowed('https://elsewhere.example')).toBeNull();
  expect(await allowed('null')).toBeNull();
  const asked = { origin, 'access-control-request-method': 'PATCH', 'access-control-request-headers': 'authorization' };
  const preflight = await fetch(`${audience}clients/manager`, { method: 'OPTIONS', headers: asked });
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get('access-control-allow-methods')).toContain('PATCH');
  expect(preflight.headers.get('access-control-allow-headers')).toContain('authorization');
});

test('logs: one entry for each write, naming what was written', async () => {
  const { client_id: made } = await auth0.clients.create({ name: 'Once' });
  await auth0.clients.update(made!, { name: 'Twice' });
  await auth0.clients.rotateSecret(made!);
  await auth0.clients.delete(made!);
  const entries = await until('the entries', async () => {
    const { body } = await ask('GET', 'logs?per_page=100&search=type:sapi');
    const found = (body as { details: { operation: string; target?: string } }[]).filter(
      ({ details }) => details.target === made,
    );
    return found.length >= 4 && found;
  });
  expect(entries.map(({ details }) => details.operation)).toEqual([
    'DELETE api/v2/clients/:id',
    'POST api/v2/clients/:id/rotate-secret',
    'PATCH api/v2/clients/:id',
    'POST api/v2/clients',
  ]);
});

test.each(['clients/%ff', 'clients/%', 'users/a%00b', 'clients?page=%ff', 'clients?take=10&from=%00'])(
  'a malformed address is refused in the API’s own form: %s',
  async (path) => {
    const { status, body } = await ask('GET', path);
    expect(status).toBe(400);
    expect(body).toEqual({
      statusCode: 400,
      error: 'Bad Request',
      message: expect.any(String),
      errorCode: 'invalid_uri',
    });
  },
);

test('branding/templates/universal-login: dresses the login page; a bad template is refused', async () => {
  const { templates } = auth0.branding;
  const template =
    '<!DOCTYPE html><html><head>{%- auth0:head -%}</head><body><h2>{{ application.name | escape }}!</h2>{%- auth0:widget -%}</body></html>';
  await expect(templates.getUniversalLogin()).rejects.toEqual(refusal(404));
  await templates.updateUniversalLogin({ template });
  expect(await templates.getUniversalLogin()).toEqual({ body: template });
  await templates.updateUniversalLogin(template);
  const browser = new Browser(gate);
  const page = await browser.authorize({
    client_id: 'web',
    redirect_uri: 'https://app.example/cb',
    response_type: 'code',
    ...pkce(),
  });
  expect(page.html).toContain('<h2>Web App!</h2>');
  expect(page.html).toContain('name="identifier"');
  await expect(templates.updateUniversalLogin({ template: 'no tags' })).rejects.toEqual(refusal(400, 'invalid_body'));
  const ruled = template.replace('</head>', '<style>p { color: {{ transaction.params["ext-a"] }} }</style></head>');
  await expect(templates.updateUniversalLogin({ template: ruled })).rejects.toThrow(/style element may hold no \{\{/);
  await templates.deleteUniversalLogin();
  await expect(templates.getUniversalLogin()).rejects.toEqual(refusal(404));
});

test('tenants/settings: read, changed and at work at once', async () => {
  const { settings } = auth0.tenants;
  expect(await settings.get()).toMatchObject({ enabled_locales: ['en', 'de'], session_lifetime: 168 });
  expect(await settings.update({ friendly_name: 'Acme', support_email: 'help@acme.example' })).toMatchObject({
    friendly_name: 'Acme',
  });
  const page = await new Browser(gate).authorize({
    client_id: 'web',
    redirect_uri: 'https://app.example/cb',
    response_type: 'code',
    ...pkce(),
  });
  expect(page.html).toContain('mailto:help@acme.example');
  expect(page.html).not.toContain('<img');
  await settings.update({ picture_url: 'https://acme.example/logo.svg' });
  const dressed = await new Browser(gate).get('activate');
  expect(dressed.html).toContain('src="https://acme.example/logo.svg"');
  expect(dressed.headers.get('content-security-policy')).toContain("img-src 'self' data: https://acme.example;");
  await ask('PATCH', 'tenants/settings', { picture_url: '' });
  expect((await ask('PATCH', 'tenants/settings', { identifier_first: false })).body).toMatchObject({
    identifier_first: false,
  });
  const classic = await new Browser(gate).authorize({
    client_id: 'web',
    redirect_uri: 'https://app.example/cb',
    response_type: 'code',
    ...pkce(),
  });
  expect(classic.html).toContain('name="password"');
  await expect(settings.update({ default_audience: 'urn:none' })).rejects.toEqual(refusal(400, 'invalid_body'));
  await settings.update({ default_audience: api });
  expect((await settings.get()).default_audience).toBe(api);
  await ask('PATCH', 'tenants/settings', { identifier_first: true, default_audience: '', friendly_name: '' });
  expect((await settings.get()).default_audience).toBe('');
});

test('registration-tokens: a token that registers a client', async () => {
  const { status, body } = await ask('POST', 'registration-tokens', { ttl_sec: 60 });
  expect(status).toBe(201);
  expect(body).toEqual({ token: expect.stringMatching(/^[\w-]{20,}$/) });
  const register = (token: string) =>
    fetch(`${issuer}oidc/register`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ client_name: 'Registered', redirect_uris: ['https://registered.example/cb'] }),
    });
  expect((await register('wrong')).status).toBe(401);
  const registered = await register(body.token);
  expect(registered.status).toBe(201);
  const { client_id } = (await registered.json()) as { client_id: string };
  expect(await auth0.clients.get(client_id)).toMatchObject({ name: 'Registered', is_first_party: false });
  await until('its entry in the log', async () =>
    (await auth0.logs.list({ search: `type:sapi AND client_id:${client_id}` })).data.some(
      ({ details }) => (details as { operation?: string }).operation === 'POST oidc/register',
    ),
  );
  expect((await ask('POST', 'registration-tokens', { ttl_sec: 0 })).status).toBe(400);
});

test('keys/signing: listed without private parts, rotated with the successor published first, revoked', async () => {
  const { signing } = auth0.keys;
  const before = await signing.list();
  expect(before.filter(({ current }) => current)).toHaveLength(4);
  expect(before[0]?.cert).toContain('BEGIN PUBLIC KEY');
  expect(JSON.stringify(before)).not.toMatch(/"d":|PRIVATE/);
  const next = await signing.rotate();
  expect(await signing.get(next.kid)).toMatchObject({ next: true, current: false });
  // A second rotation takes the key that waits, which is published by now.
  const older = await tokenOf('machine', { audience: api });
  const again = await signing.rotate();
  expect(again).toMatchObject({ kid: next.kid, current: true });
  await until('tokens signed by it', async () => {
    const token = await tokenOf('machine', { audience: api });
    return decodeProtectedHeader(token).kid === next.kid && decodeProtectedHeader(older).kid !== next.kid;
  });
  const jwks = createRemoteJWKSet(new URL(`${issuer}.well-known/jwks.json`));
  await jwtVerify(older, jwks, { issuer, audience: api });
  await expect(signing.revoke(next.kid)).rejects.toEqual(refusal(400));
  const old = (await signing.list()).find(({ previous, kid }) => previous && before.some((key) => key.kid === kid));
  expect((await signing.revoke(old?.kid as string)).revoked).toBe(true);
});
