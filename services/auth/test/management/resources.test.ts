/** Clients, APIs and settings at the management API, through the `auth0` package, unmodified. */
import { Browser } from '@gatepost/testkit/browser';
import { pkce } from '@gatepost/testkit/pkce';
import { until } from '@gatepost/testkit/until';
import { afterAll, describe, expect, test } from '@jest/globals';
import type { Management } from 'auth0';
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose';
import { api } from '../seeds.ts';
import { all, openManagement, refusal } from './target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const { gate, issuer, audience, auth0, tokenOf, ask, signIn, refresh } = stack.use(await openManagement());

describe('clients', () => {
  test('are created with a working secret, read without it, changed, listed and deleted', async () => {
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

  test('keep all concurrent changes of their metadata', async () => {
    const made = await auth0.clients.create({ name: 'Busy', client_metadata: { team: 'blue' } });
    const path = `clients/${made.client_id}`;
    const names = Array.from({ length: 20 }, (_, index) => `key${index}`);
    const set = (value: string | null) =>
      Promise.all(names.map((name) => ask('PATCH', path, { client_metadata: { [name]: value } })));
    expect((await set('x')).map(({ status }) => status)).toEqual(names.map(() => 200));
    const { body } = await ask('GET', path);
    const added = Object.fromEntries(names.map((name) => [name, 'x']));
    expect(body.client_metadata).toEqual({ team: 'blue', ...added });
    expect(Date.parse(body.updated_at)).toBeGreaterThan(Date.parse(body.created_at));
    await ask('PATCH', path, { client_metadata: { team: 'blue' } });
    expect((await ask('GET', path)).body.updated_at).toBe(body.updated_at);
    await set(null);
    expect((await ask('GET', path)).body.client_metadata).toEqual({ team: 'blue' });
  });

  test('whose ID tokens have another algorithm do not change when they are sent back as they were read', async () => {
    const made = await ask('POST', 'clients', { name: 'Signed', jwt_configuration: { alg: 'ES256' } });
    const { client_id } = made.body;
    const { body } = await ask('GET', `clients/${client_id}`);
    expect(await ask('PATCH', `clients/${client_id}`, body)).toEqual({ status: 200, body });
  });

  test('become public and confidential again, and lose fields that are set to null', async () => {
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
    [{ callbacks: [' https://app.example/cb'] }],
    [{ callbacks: ['https://app.example/c\nb'] }],
    [{ allowed_logout_urls: ['https://app.example/ '] }],
    [{ web_origins: [' https://app.example'] }],
    [{ allowed_origins: ['https://app.example '] }],
    [{ oidc_logout: { backchannel_logout_urls: ['https://app.example/out '] } }],
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

test('clients: Auth0’s searches for an id elsewhere or a grant for organizations find nothing', async () => {
  for (const query of [
    { external_client_id: 'https://elsewhere.example/client.json' },
    { q: 'client_grant.organization_id:org_0123456789abcdef' },
    { q: 'client_grant.allow_any_organization:true' },
  ])
    expect([query, await all(await auth0.clients.list(query))]).toEqual([query, []]);
  expect((await ask('GET', 'clients?q=name:web')).body).toMatchObject({ errorCode: 'invalid_query_string' });
});

test('client-grants: are created, changed, listed and deleted, and refuse unknown scopes and a second grant', async () => {
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
  // Auth0's other kinds of grants, of which there are none.
  for (const [more, expected] of [
    [{ subject_type: 'client' }, [id]],
    [{ allow_any_organization: false }, [id]],
    [{ subject_type: 'user' }, []],
    [{ subject_type: 'anonymous_user' }, []],
    [{ allow_any_organization: true }, []],
    [{ default_for: 'third_party_clients' }, []],
  ] as [Management.ListClientGrantsRequestParameters, string[]][]) {
    const found = await all(await auth0.clientGrants.list({ client_id: 'web', ...more }));
    expect([more, found.map((grant) => grant.id)]).toEqual([more, expected]);
  }
  expect((await ask('GET', 'client-grants?subject_type=everybody')).status).toBe(400);
  await auth0.clientGrants.delete(id);
  await expect(auth0.clientGrants.get(id)).rejects.toEqual(refusal(404));
});

test('resource-servers: are found by id and identifier, changed, and deleted with their grants, except for our own', async () => {
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

describe('an API', () => {
  const scopes = [{ value: 'read:it' }, { value: 'write:it' }];

  /** A machine and an application of Alice's that may do both. */
  async function makeUsed(identifier: string) {
    const given = { identifier, scopes, allow_offline_access: true };
    const { id = '' } = await auth0.resourceServers.create(given);
    await auth0.clientGrants.create({ client_id: 'machine', audience: identifier, scope: ['read:it', 'write:it'] });
    const browser = new Browser(gate);
    const { request, refreshToken } = await signIn(browser, 'alice@example.com', {
      audience: identifier,
      scope: 'openid offline_access read:it write:it',
    });
    const asksHer = async () => (await browser.authorize(request)).location === undefined;
    expect(await asksHer()).toBe(false);
    return { given, id, refreshToken, asksHer };
  }

  test('that is created again after its deletion is open to no earlier refresh token, and people are asked again', async () => {
    const { given, id, refreshToken, asksHer } = await makeUsed('again api');
    await auth0.resourceServers.delete(id);
    const again = await auth0.resourceServers.create(given);
    expect(await refresh(refreshToken)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
    expect(await asksHer()).toBe(true);
    await auth0.resourceServers.delete(again.id!);
  });

  test('that gets a scope back gives it to nobody who had it before', async () => {
    const { given, id, refreshToken, asksHer } = await makeUsed('https://back.example/');
    await auth0.resourceServers.update(id, { scopes: [{ value: 'read:it' }] });
    expect(await all(await auth0.clientGrants.list({ audience: given.identifier }))).toMatchObject([
      { scope: ['read:it'] },
    ]);
    await auth0.resourceServers.update(id, { scopes });
    const machine = { grant_type: 'client_credentials', client_id: 'machine', client_secret: 'machine-secret' };
    expect((await gate.post('oauth/token', { ...machine, audience: given.identifier })).json.scope).toBe('read:it');
    const { access_token } = (await refresh(refreshToken)).json as { access_token: string };
    expect((decodeJwt(access_token).scope as string).split(' ').sort()).toEqual([
      'offline_access',
      'openid',
      'read:it',
    ]);
    expect(await asksHer()).toBe(true);
    await auth0.resourceServers.delete(id);
  });
});

test('branding/templates/universal-login: changes the login page, and refuses a bad template', async () => {
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

test('tenants/settings: are read, changed, and effective at once', async () => {
  const { settings } = auth0.tenants;
  expect(await settings.get()).toMatchObject({
    enabled_locales: ['en', 'de', 'es', 'fr', 'pt', 'ja'],
    session_lifetime: 168,
  });
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
  // A machine that names no API gets a token for this one.
  const machine = { grant_type: 'client_credentials', client_id: 'machine', client_secret: 'machine-secret' };
  const token = await until(
    'the default to count',
    async () => (await gate.post('oauth/token', machine)).json.access_token,
  );
  expect(decodeJwt(token as string).aud).toBe(api);
  await expect(auth0.resourceServers.delete(api)).rejects.toEqual(refusal(409, 'default_audience'));
  expect((await gate.post('oauth/token', machine)).status).toBe(200);
  await ask('PATCH', 'tenants/settings', { identifier_first: true, default_audience: '', friendly_name: '' });
  expect((await settings.get()).default_audience).toBe('');
});

test('registration-tokens: creates a token that can register a client', async () => {
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

test('keys/signing: are listed without private parts, rotated with the successor published first, and revoked', async () => {
  const { signing } = auth0.keys;
  const before = await signing.list();
  expect(before.filter(({ current }) => current)).toHaveLength(4);
  expect(before[0]?.cert).toContain('BEGIN CERTIFICATE');
  expect(JSON.stringify(before)).not.toMatch(/"d":|PRIVATE/);
  // A successor that is revoked before it signs leaves the key before it as it was.
  const unwanted = await signing.rotate();
  expect(before.find(({ current, kid }) => current && kid !== unwanted.kid)).toBeDefined();
  expect((await signing.revoke(unwanted.kid)).revoked).toBe(true);
  const alg = async (kid: string) => (await ask('GET', `keys/signing/${kid}`)).body.alg as string;
  for (const { kid, current } of before)
    if (current && (await alg(kid)) === (await alg(unwanted.kid)))
      expect((await ask('GET', `keys/signing/${kid}`)).body).not.toHaveProperty('current_until');

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
