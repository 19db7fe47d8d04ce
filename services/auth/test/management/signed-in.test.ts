/** Where people are signed in, what keeps their applications going, and who is locked out, through the `auth0` package, unmodified. */
import { Browser } from '@gatepost/testkit/browser';
import { pkce } from '@gatepost/testkit/pkce';
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { trusted } from '../seeds.ts';
import { all, openManagement, refusal } from './target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const { gate, auth0, ask, clientOf, signIn, refresh, userinfo, tokenOf } = stack.use(await openManagement());
const bob = 'auth0|bob';

type SignedIn = Awaited<ReturnType<typeof signIn>>;
const isSignedIn = async (browser: Browser, { request }: SignedIn) => {
  const { location } = await browser.authorize({ ...request, ...pkce(), prompt: 'none' });
  return location?.searchParams.get('error') !== 'login_required';
};
const sessionsOf = async (id: string) => all(await auth0.users.sessions.list(id));
const tokensOf = async (id: string) => all(await auth0.users.refreshToken.list(id));

const signOut = async () => {
  await auth0.users.sessions.delete(bob);
  await auth0.users.refreshToken.delete(bob);
};

describe('sessions of a user', () => {
  beforeEach(signOut);

  test('are listed with their applications, and can be ended one by one', async () => {
    const [home, work] = [new Browser(gate), new Browser(gate)];
    const atHome = await signIn(home, 'bob@example.com');
    const [first] = await sessionsOf(bob);
    expect(first).toMatchObject({
      user_id: bob,
      clients: [{ client_id: 'third' }],
      authentication: { methods: [{ name: 'pwd', timestamp: first?.authenticated_at }] },
      device: { initial_user_agent: 'node', initial_ip: expect.stringMatching(/127\.0\.0\.1|::1/) },
    });
    // Its id is no cookie: whoever has read it is nobody.
    const thief = new Browser(gate);
    for (const { value } of home.cookies.values()) expect(value).not.toContain(first?.id);
    thief.cookies.set('_session /', { value: first?.id as string, path: '/' });
    expect(await isSignedIn(thief, atHome)).toBe(false);
    const times = ['created_at', 'authenticated_at', 'last_interacted_at', 'idle_expires_at', 'expires_at'];
    const given = times.map((name) => Date.parse(first?.[name] as string));
    expect(given).toEqual(given.toSorted((a, b) => a - b));
    const atWork = await signIn(work, 'bob@example.com');
    expect(await sessionsOf(bob)).toHaveLength(2);
    expect((await ask('GET', 'users/auth0%7Cbob/sessions?take=1')).body).toMatchObject({ next: expect.any(String) });
    expect(await all(await auth0.users.sessions.list(bob, { take: 1 }))).toHaveLength(2);
    expect(await sessionsOf('auth0|alice')).toEqual([]);

    expect(await auth0.sessions.get(first?.id as string)).toEqual(first);
    await auth0.sessions.delete(first?.id as string);
    expect(await isSignedIn(home, atHome)).toBe(false);
    expect(await isSignedIn(work, atWork)).toBe(true);
    await expect(auth0.sessions.get(first?.id as string)).rejects.toEqual(refusal(404, 'inexistent_session'));
    // The application goes on, as at Auth0.
    expect((await refresh(atHome.refreshToken)).status).toBe(200);
    expect((await sessionsOf(bob)).map(({ id }) => id)).not.toContain(first?.id);
  });

  test('can be ended all at once, while refresh tokens stay', async () => {
    const browsers = [new Browser(gate), new Browser(gate)];
    const signedIn = await Promise.all(browsers.map((browser) => signIn(browser, 'bob@example.com')));
    await auth0.users.sessions.delete(bob);
    expect(await sessionsOf(bob)).toEqual([]);
    for (const [index, browser] of browsers.entries()) expect(await isSignedIn(browser, signedIn[index]!)).toBe(false);
    expect((await refresh(signedIn[0]!.refreshToken)).status).toBe(200);
    await expect(auth0.users.sessions.list('auth0|none')).rejects.toEqual(refusal(404, 'inexistent_user'));
  });

  test('that are revoked end the refresh tokens issued in them', async () => {
    const [home, work] = [new Browser(gate), new Browser(gate)];
    const atHome = await signIn(home, 'bob@example.com');
    const [session] = await sessionsOf(bob);
    const atWork = await signIn(work, 'bob@example.com');
    await auth0.sessions.revoke(session?.id as string);
    expect(await isSignedIn(home, atHome)).toBe(false);
    expect((await refresh(atHome.refreshToken)).status).toBe(400);
    expect((await userinfo(atHome.accessToken)).status).toBe(401);
    expect((await refresh(atWork.refreshToken)).status).toBe(200);
  });

  test('are ended by revoke-access: one with its refresh tokens or without, or all of them, and nobody else’s', async () => {
    const [home, work] = [new Browser(gate), new Browser(gate)];
    const atHome = await signIn(home, 'bob@example.com');
    const [first] = await sessionsOf(bob);
    const atWork = await signIn(work, 'bob@example.com');
    const second = (await sessionsOf(bob)).find(({ id }) => id !== first?.id);
    const revoke = (id: string, body: object) => auth0.users.revokeAccess(id, body);
    await expect(revoke('auth0|alice', { session_id: first?.id })).rejects.toEqual(refusal(404, 'inexistent_session'));
    await expect(revoke(bob, { session_id: 'none' })).rejects.toEqual(refusal(404, 'inexistent_session'));
    await expect(revoke(bob, { session: first?.id })).rejects.toEqual(refusal(400, 'invalid_body'));
    expect(await sessionsOf(bob)).toHaveLength(2);

    await revoke(bob, { session_id: first?.id, preserve_refresh_tokens: true });
    expect(await isSignedIn(home, atHome)).toBe(false);
    expect(await isSignedIn(work, atWork)).toBe(true);
    expect((await refresh(atHome.refreshToken)).status).toBe(200);
    await revoke(bob, { session_id: second?.id });
    expect(await isSignedIn(work, atWork)).toBe(false);
    expect((await refresh(atWork.refreshToken)).status).toBe(400);
    expect((await refresh(atHome.refreshToken)).status).toBe(200);

    const browser = new Browser(gate);
    const again = await signIn(browser, 'bob@example.com');
    await revoke(bob, { preserve_refresh_tokens: true });
    expect(await isSignedIn(browser, again)).toBe(false);
    expect((await refresh(again.refreshToken)).status).toBe(200);
    await revoke(bob, {});
    for (const { refreshToken } of [atHome, again]) expect((await refresh(refreshToken)).status).toBe(400);
  });

  test('that were ended are not written again by a request that was under way', async () => {
    const browser = new Browser(gate);
    const signedIn = await signIn(browser, 'bob@example.com');
    const [session] = await sessionsOf(bob);
    // Requests on both sides of the deletion, each of which saves the session it read.
    await Promise.all([
      ...Array.from({ length: 5 }, () => isSignedIn(browser, signedIn)),
      auth0.sessions.delete(session?.id as string),
      ...Array.from({ length: 5 }, () => isSignedIn(browser, signedIn)),
    ]);
    expect(await isSignedIn(browser, signedIn)).toBe(false);
    expect(await sessionsOf(bob)).toEqual([]);
  });
});

describe('refresh tokens of a user', () => {
  beforeEach(signOut);

  test.each([
    [{ infinite_token_lifetime: true }, { whole: 'years', idle: 1_000 }],
    [{ infinite_idle_token_lifetime: true }, { whole: 2_000, idle: 2_000 }],
    [
      { infinite_token_lifetime: true, infinite_idle_token_lifetime: true },
      { whole: 'years', idle: 'years' },
    ],
    [
      { infinite_token_lifetime: false, infinite_idle_token_lifetime: false },
      { whole: 2_000, idle: 1_000 },
    ],
  ])('live as long as the application says: %j', async (infinite, expected) => {
    const refresh_token = {
      expiration_type: 'expiring',
      token_lifetime: 2_000,
      idle_token_lifetime: 1_000,
      ...infinite,
    };
    expect((await ask('PATCH', 'clients/third', { refresh_token })).status).toBe(200);
    await signIn(new Browser(gate), 'bob@example.com');
    const [token] = await tokensOf(bob);
    const lasts = (until: unknown) => {
      const seconds = (Date.parse(until as string) - Date.parse(token?.created_at as string)) / 1_000;
      return seconds > 100_000_000 ? 'years' : Math.round(seconds / 100) * 100;
    };
    expect({ whole: lasts(token?.expires_at), idle: lasts(token?.idle_expires_at) }).toEqual(expected);
    await ask('PATCH', 'clients/third', { refresh_token: null });
  });

  test('are listed, found, and revoked one by one or all together', async () => {
    const browser = new Browser(gate);
    const first = await signIn(browser, 'bob@example.com');
    const [session] = await sessionsOf(bob);
    const [token] = await tokensOf(bob);
    expect(token).toMatchObject({
      user_id: bob,
      client_id: 'third',
      session_id: session?.id,
      rotating: false,
      resource_servers: [{ audience: 'https://api.example.com/', scopes: expect.any(String) }],
      last_exchanged_at: null,
    });
    expect(JSON.stringify(token)).not.toContain(first.refreshToken);
    const id = token?.id as string;
    expect(await auth0.refreshTokens.get(id)).toEqual(token);
    expect(await all(await auth0.refreshTokens.list({ user_id: bob, client_id: 'third' }))).toEqual([token]);
    expect(await all(await auth0.refreshTokens.list({ user_id: bob, client_id: 'web' }))).toEqual([]);
    await auth0.refreshTokens.delete(id);
    expect((await refresh(first.refreshToken)).status).toBe(400);
    await expect(auth0.refreshTokens.get(id)).rejects.toEqual(refusal(404, 'inexistent_refresh_token'));
    // The browser stays signed in.
    expect(await isSignedIn(browser, first)).toBe(true);

    const revoke = [
      () => auth0.users.refreshToken.delete(bob),
      async () => auth0.refreshTokens.revoke({ ids: (await tokensOf(bob)).map((each) => each.id as string) }),
      () => auth0.refreshTokens.revoke({ user_id: bob }),
      () => auth0.refreshTokens.revoke({ user_id: bob, client_id: 'third', audience: 'https://api.example.com/' }),
    ];
    for (const end of revoke) {
      const { refreshToken } = await signIn(new Browser(gate), 'bob@example.com');
      await auth0.refreshTokens.revoke({ user_id: bob, client_id: 'web' });
      await auth0.refreshTokens.revoke({ user_id: bob, client_id: 'third', audience: 'urn:es' });
      expect((await refresh(refreshToken)).status).toBe(200);
      await end();
      expect((await refresh(refreshToken)).status).toBe(400);
      expect(await tokensOf(bob)).toEqual([]);
    }
    await expect(auth0.refreshTokens.revoke({})).rejects.toEqual(refusal(400, 'invalid_body'));
    await expect(auth0.refreshTokens.revoke({ client_id: 'third' })).rejects.toEqual(refusal(400, 'invalid_body'));
  });
});

describe('user-blocks', () => {
  const guess = async (username: string, password: string) =>
    gate.post('oauth/token', {
      grant_type: 'password',
      client_id: trusted.client_id,
      client_secret: trusted.client_secret,
      username,
      password,
    });
  const lockOut = async (username: string) => {
    for (let tries = 0; tries < 10; tries += 1) await guess(username, 'wrong');
    expect((await guess(username, 'wrong')).json.error).toBe('too_many_attempts');
  };

  test('show who is locked out, and end the lockout', async () => {
    const connection = 'Username-Password-Authentication';
    expect(await auth0.userBlocks.list(bob)).toEqual({ blocked_for: [] });
    await lockOut('bob@example.com');
    const blocked_for = [
      { identifier: 'bob@example.com', ip: expect.stringMatching(/^127\.0\.0\.1$|::\/64$/), connection },
    ];
    expect(await auth0.userBlocks.list(bob, { consider_brute_force_enablement: true })).toEqual({ blocked_for });
    expect(await auth0.userBlocks.listByIdentifier({ identifier: 'Bob@Example.com' })).toEqual({ blocked_for });
    expect(await auth0.userBlocks.list('auth0|alice')).toEqual({ blocked_for: [] });
    await auth0.userBlocks.delete(bob);
    expect(await auth0.userBlocks.list(bob)).toEqual({ blocked_for: [] });
    expect((await guess('bob@example.com', 'wrong')).json.error).toBe('invalid_grant');
    await expect(auth0.userBlocks.list('auth0|none')).rejects.toEqual(refusal(404, 'inexistent_user'));
  });

  test('exist for unknown people too, by the login that was typed', async () => {
    await lockOut('nobody@example.com');
    const { blocked_for } = await auth0.userBlocks.listByIdentifier({ identifier: 'nobody@example.com' });
    expect(blocked_for).toHaveLength(1);
    await auth0.userBlocks.deleteByIdentifier({ identifier: 'nobody@example.com' });
    expect((await guess('nobody@example.com', 'wrong')).json.error).toBe('invalid_grant');
    expect((await ask('GET', 'user-blocks')).body).toMatchObject({ errorCode: 'invalid_query_string' });
  });
});

test('stats count the active users and the logins of the last days', async () => {
  await signIn(new Browser(gate), 'bob@example.com');
  const today = new Date().toISOString().slice(0, 10);
  await until('the login to be counted', async () => (await auth0.stats.getActiveUsersCount()) >= 1);
  const days = await until('the day', async () => {
    const found = await auth0.stats.getDaily();
    return found.length > 0 && found;
  });
  expect(days.at(-1)).toMatchObject({ logins: expect.any(Number), signups: 0, leaked_passwords: 0 });
  expect([today, new Date().toISOString().slice(0, 10)]).toContain(days.at(-1)?.date?.slice(0, 10));
  expect(await auth0.stats.getDaily({ from: '20200101', to: '20200131' })).toEqual([]);
  for (const query of ['from=2020', 'from=20201301', 'from=00000101', 'from=20200201&to=20200101'])
    expect((await ask('GET', `stats/daily?${query}`)).body).toMatchObject({ errorCode: 'invalid_query_string' });
});

test('features that no user has here are an empty list for an existing user', async () => {
  expect(await all(await auth0.users.roles.list(bob))).toEqual([]);
  expect(await all(await auth0.users.permissions.list(bob))).toEqual([]);
  expect(await all(await auth0.users.organizations.list(bob))).toEqual([]);
  expect(await all(await auth0.users.authenticationMethods.list(bob))).toEqual([]);
  expect(await auth0.users.enrollments.get(bob)).toEqual([]);
  await auth0.users.authenticators.deleteAll(bob);
  expect((await ask('GET', 'users/auth0%7Cbob/roles')).body).toEqual([]);
  await expect(auth0.users.roles.list('auth0|none')).rejects.toEqual(refusal(404, 'inexistent_user'));
});

test('each operation on sessions, tokens and blocks needs its own scope', async () => {
  const nobody = `Bearer ${await tokenOf('nobody')}`;
  const id = encodeURIComponent(bob);
  const routes = [
    ['GET', `users/${id}/sessions`],
    ['GET', 'sessions/x'],
    ['GET', `users/${id}/refresh-tokens`],
    ['GET', 'refresh-tokens/x'],
    ['GET', `refresh-tokens?user_id=${id}`],
    ['GET', `user-blocks/${id}`],
    ['GET', 'user-blocks?identifier=x'],
    ['GET', 'stats/daily'],
    ['GET', 'stats/active-users'],
    ['GET', `users/${id}/roles`],
  ] as const;
  for (const [method, path] of routes)
    expect([path, (await ask(method, path, undefined, nobody)).status]).toEqual([path, 403]);
  const reader = clientOf('reader');
  for (const write of [
    () => reader.users.sessions.delete(bob),
    () => reader.sessions.delete('x'),
    () => reader.sessions.revoke('x'),
    () => reader.users.refreshToken.delete(bob),
    () => reader.refreshTokens.delete('x'),
    () => reader.refreshTokens.revoke({ user_id: bob }),
    () => reader.userBlocks.delete(bob),
    () => reader.userBlocks.deleteByIdentifier({ identifier: 'x' }),
    () => reader.users.authenticators.deleteAll(bob),
  ])
    await expect(write()).rejects.toEqual(refusal(403, 'insufficient_scope'));
});

test('ID tokens are signed as the application is set, or by default as the tenant is set', async () => {
  const algOf = async (of: Promise<{ body: unknown }>) =>
    ((await of).body as { jwt_configuration: { alg: string } }).jwt_configuration.alg;
  const say = (alg: string) => algOf(ask('PATCH', 'clients/third', { jwt_configuration: { alg } }));
  expect(await say('ES256')).toBe('ES256');
  const { idToken } = await signIn(new Browser(gate), 'bob@example.com');
  const jwks = createRemoteJWKSet(new URL(`${gate.issuer}.well-known/jwks.json`));
  expect((await jwtVerify(idToken, jwks, { audience: 'third' })).protectedHeader.alg).toBe('ES256');
  expect(await say('RS256')).toBe('RS256');
  const again = await signIn(new Browser(gate), 'bob@example.com');
  expect((await jwtVerify(again.idToken, jwks)).protectedHeader.alg).toBe('RS256');

  await ask('PATCH', 'tenants/settings', { default_id_token_alg: 'ES256' });
  expect(await algOf(ask('POST', 'clients', { name: 'new' }))).toBe('ES256');
  expect(await algOf(ask('POST', 'clients', { name: 'old', jwt_configuration: { alg: 'RS256' } }))).toBe('RS256');
  expect((await ask('PATCH', 'tenants/settings', { default_id_token_alg: 'RS256' })).body).toMatchObject({
    default_id_token_alg: 'RS256',
  });
});
