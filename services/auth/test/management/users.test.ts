/** People, what they gave and their connections at the management API, through the `auth0` package, unmodified. */
import { Browser } from '@gatepost/testkit/browser';
import { pkce } from '@gatepost/testkit/pkce';
import { until } from '@gatepost/testkit/until';
import { afterAll, describe, expect, test } from '@jest/globals';
import { api } from '../seeds.ts';
import { all, openManagement, refusal } from './target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const { gate, auth0, ask, signIn, refresh, userinfo } = stack.use(await openManagement());

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

  // Such a person could not be changed, nor created, by a program.
  test('have any address that people may sign up with, and may be sent back with it as they were read', async () => {
    const email = 'o&m..x@xn--mller-kva.xn--p1ai';
    const form = {
      client_id: 'spa',
      connection: 'Username-Password-Authentication',
      email,
      password: 'four other words',
    };
    expect((await gate.post('dbconnections/signup', form)).status).toBe(200);
    const [signedUp] = await auth0.users.listUsersByEmail({ email });
    const answer = await ask('PATCH', `users/${signedUp!.user_id}`, { ...signedUp, name: 'Om' });
    expect(answer).toMatchObject({ status: 200, body: { email, name: 'Om' } });
    await auth0.users.delete(signedUp!.user_id!);
    expect(await auth0.users.create({ connection: 'email', email: 'Tom&Jerry@Example.com' })).toMatchObject({
      email: 'tom&jerry@example.com',
    });
  });

  test('that are blocked lose their session, refresh tokens and userinfo at once, and do not get them back', async () => {
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

test('users of a passwordless connection or another provider get no password and no username', async () => {
  const options = {
    issuer: 'https://corp.example/',
    authorization_endpoint: 'https://corp.example/authorize',
    token_endpoint: 'https://corp.example/token',
    jwks_uri: 'https://corp.example/keys',
    client_id: 'gate',
    client_secret: 'shared with the provider',
  };
  const { body: corp } = await ask('POST', 'connections', { name: 'corp', strategy: 'oidc', options });
  await gate.pool.query(
    "INSERT INTO auth.accounts (user_id, connection, email) VALUES ('oidc|corp|erin', 'corp', 'erin@corp.example')",
  );
  const erik = await auth0.users.create({ connection: 'email', email: 'erik@example.com' });
  const sms = await auth0.users.create({ connection: 'sms', phone_number: '+15555550188' });
  const notSupported = { status: 400, body: { errorCode: 'operation_not_supported' } };
  for (const id of [erik.user_id!, sms.user_id!, 'oidc|corp|erin']) {
    const path = `users/${encodeURIComponent(id)}`;
    for (const body of [{ password: 'a long enough secret' }, { username: 'erik' }])
      expect([id, await ask('PATCH', path, body)]).toMatchObject([id, notSupported]);
    // Everything else changes, and what was read goes back.
    const { body: shown } = await ask('GET', path);
    expect(await ask('PATCH', path, { ...shown, name: 'Erik', username: null })).toMatchObject({ status: 200 });
    expect(shown).not.toHaveProperty('last_password_reset');
  }
  for (const more of [{ password: 'a long enough secret' }, { username: 'eva' }])
    expect(await ask('POST', 'users', { connection: 'email', email: 'eva@example.com', ...more })).toMatchObject(
      notSupported,
    );
  for (const { user_id } of [erik, sms]) await auth0.users.delete(user_id!);
  await auth0.connections.delete(corp.id);
});

describe('a user in the form that the API returned it', () => {
  const connection = 'Username-Password-Authentication';
  const full = {
    email: 'full@example.com',
    email_verified: true,
    phone_number: '+15555550177',
    phone_verified: true,
    given_name: 'Full',
    family_name: 'Of Fields',
    name: 'Full Of Fields',
    nickname: 'full',
    picture: 'https://pictures.example/full.png',
    blocked: false,
    user_metadata: { colour: 'green', deep: { list: [1, { a: null }] } },
    app_metadata: { plan: 'gold' },
  };

  test('can be sent back with its computed, null and default fields, and created again from it', async () => {
    const made = await auth0.users.create({
      ...full,
      connection,
      password: 'a long enough secret',
      username: 'full.user',
    });
    const id = made.user_id as string;
    expect(made).toMatchObject(full);
    const { updated_at: before, ...shown } = (await ask('GET', `users/${encodeURIComponent(id)}`)).body;
    const { status, body } = await ask('PATCH', `users/${encodeURIComponent(id)}`, {
      ...shown,
      updated_at: before,
      password: null,
      connection: null,
      client_id: null,
      verify_email: false,
      app_metadata: null,
    });
    expect(status).toBe(200);
    const { updated_at: after, ...again } = body;
    expect(again).toEqual(shown);
    expect(after >= before).toBe(true);

    await auth0.users.delete(id);
    const anew = await ask('POST', 'users', {
      ...shown,
      connection,
      password: 'a long enough secret',
      verify_email: null,
    });
    expect(anew.status).toBe(201);
    const own = { created_at: expect.any(String), updated_at: expect.any(String) };
    expect(anew.body).toEqual({ ...shown, ...own });
    await auth0.users.delete(id);
  });

  test('keeps a computed name that follows the address', async () => {
    const made = await auth0.users.create({ connection, email: 'first@example.com', password: 'a long enough secret' });
    const id = made.user_id as string;
    await auth0.users.update(id, { name: made.name as string, nickname: made.nickname as string });
    expect(await auth0.users.update(id, { email: 'second@example.com' })).toMatchObject({
      name: 'second@example.com',
      nickname: 'second',
      email_verified: false,
    });
    await auth0.users.delete(id);
  });

  test('null removes a field but not the account’s identifier, and unknown fields are refused by name', async () => {
    const made = await auth0.users.create({
      ...full,
      connection,
      password: 'a long enough secret',
      username: 'full.user',
    });
    const id = made.user_id as string;
    const less = await auth0.users.update(id, { picture: null, given_name: null, phone_number: null, email: null });
    for (const field of ['picture', 'given_name', 'phone_number', 'phone_verified', 'email', 'email_verified'])
      expect(less).not.toHaveProperty(field);
    await expect(auth0.users.update(id, { username: null })).rejects.toEqual(refusal(400, 'invalid_body'));
    expect((await ask('PATCH', `users/${encodeURIComponent(id)}`, { nick: 'x', app_metadata: {} })).body.message).toBe(
      'Payload validation error: Additional properties not allowed: nick',
    );
    for (const [field, value, said] of [
      ['nickname', 'x'.repeat(301), 'String is too long (301 chars), maximum 300'],
      ['nickname', '', 'String is too short (0 chars), minimum 1'],
      ['nickname', 5, 'Expected type string but found type number'],
    ] as const)
      expect((await ask('PATCH', `users/${encodeURIComponent(id)}`, { [field]: value })).body.message).toBe(
        `Payload validation error: ${said} on property ${field}`,
      );
    const elsewhere = {
      connection,
      email: 'e@example.com',
      password: 'a long enough secret',
      user_id: 'google-oauth2|1',
    };
    expect((await ask('POST', 'users', elsewhere)).body).toMatchObject({ errorCode: 'invalid_body' });
    await auth0.users.delete(id);
  });
});

test('concurrent changes of a user’s metadata are all kept', async () => {
  const bob = 'users/auth0%7Cbob';
  const names = Array.from({ length: 20 }, (_, index) => `key${index}`);
  const set = (value: number | null) =>
    Promise.all(
      names.map((name) =>
        ask('PATCH', bob, { user_metadata: { [name]: value }, app_metadata: { [name]: value, kept: { of: name } } }),
      ),
    );
  expect((await set(1)).map(({ status }) => status)).toEqual(names.map(() => 200));
  const all = Object.fromEntries(names.map((name) => [name, 1]));
  const { body } = await ask('GET', bob);
  expect(body.user_metadata).toEqual(all);
  expect(body.app_metadata).toEqual({ ...all, kept: { of: expect.any(String) } });
  await set(null);
  expect((await ask('GET', bob)).body).toMatchObject({ app_metadata: { kept: {} } });
  expect((await ask('GET', bob)).body.user_metadata ?? {}).toEqual({});
  await ask('PATCH', bob, { app_metadata: {} });
  expect((await ask('GET', bob)).body.app_metadata ?? {}).toEqual({});
});

test('users: revoke-access ends sessions and grants, and the user’s log lists the logins', async () => {
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

test('device-credentials and grants: a user’s consents are listed, and end when they are deleted', async () => {
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
  expect((await auth0.connections.update(id, { options })).options).toMatchObject(options);
  await auth0.connections.delete(id);
  await expect(auth0.connections.get(id)).rejects.toEqual(refusal(404));
  expect(await auth0.users.listUsersByEmail({ email: 'p@example.com' })).toEqual([]);
});
