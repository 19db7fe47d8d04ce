/** One person, several ways to log in: linked and unlinked through the `auth0` package, unmodified. */
import { Browser } from '@gatepost/testkit/browser';
import { pkce } from '@gatepost/testkit/pkce';
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { linkIn } from '../gate.ts';
import { api, trusted } from '../seeds.ts';
import { openManagement, refusal } from './target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const { gate, auth0, ask, clientOf, signIn, userinfo } = stack.use(await openManagement());
const bob = 'auth0|bob';
const password = 'a long enough secret';
beforeAll(async () => {
  await auth0.connections.create({ name: 'Partners', strategy: 'auth0' });
});

let made = 0;
/** Somebody of a connection of his own, with an address of his own. */
async function partner(connection = 'Partners') {
  made += 1;
  const email = `partner${made}@example.com`;
  const secret = connection === 'email' ? {} : { password };
  const { user_id = '' } = await auth0.users.create({ connection, email, email_verified: true, ...secret });
  return { id: user_id, email, bare: user_id.slice(user_id.indexOf('|') + 1) };
}
const { client_id, client_secret } = trusted;
const scope = 'openid email offline_access';
const logIn = (username: string, secret = password, realm = 'Partners') =>
  gate.post('oauth/token', {
    grant_type: 'http://auth0.com/oauth/grant-type/password-realm',
    client_id,
    client_secret,
    username,
    password: secret,
    realm,
    scope,
    audience: api,
  });
const subjectOf = async (answer: { json: Record<string, unknown> }) =>
  (await userinfo(answer.json.access_token as string)).json.sub;
const refresh = (token: unknown) =>
  gate.post('oauth/token', { grant_type: 'refresh_token', client_id, client_secret, refresh_token: String(token) });
const claimsOf = (token: unknown) => decodeJwt(String(token));
const link = (id: string, { bare }: { bare: string }, provider: 'auth0' | 'email' = 'auth0') =>
  auth0.users.identities.link(id, { provider, user_id: bare });

describe('a linked identity', () => {
  test('signs in where its connection is enabled, even if the connection of the primary account is not', async () => {
    const owner = await partner('Username-Password-Authentication');
    const other = await partner();
    await link(owner.id, other);
    const callback = 'https://app.example/cb';
    const { client_id: app = '' } = await auth0.clients.create({
      name: 'Partners only',
      app_type: 'spa',
      callbacks: [callback],
    });
    const { data: all } = await auth0.connections.list({ name: 'Username-Password-Authentication' });
    await auth0.connections.clients.update(all[0]!.id!, [{ client_id: app, status: false }]);
    const browser = new Browser(gate);
    const request = { client_id: app, redirect_uri: callback, response_type: 'code', scope: 'openid', ...pkce() };
    const page = await browser.logIn(await browser.authorize(request), other.email, password);
    expect(page.location?.searchParams.get('code')).toEqual(expect.any(String));
    const closed = new Browser(gate);
    const refused = await closed.logIn(await closed.authorize(request), owner.email, password);
    expect(refused.location).toBeUndefined();
    // A session by the connection that is closed there proves as little.
    const elsewhere = new Browser(gate);
    const spa = { ...request, client_id: 'spa', redirect_uri: 'https://app.example/cb' };
    await elsewhere.logIn(await elsewhere.authorize(spa), owner.email, password);
    const silent = async (given: typeof request) =>
      (await elsewhere.authorize({ ...given, prompt: 'none' })).location?.searchParams.get('error');
    expect([await silent(spa), await silent(request)]).toEqual([null, 'login_required']);
    await auth0.users.delete(owner.id);
  });

  test('is in no list of a role’s users or an organization’s members until it is unlinked', async () => {
    const owner = await partner();
    const other = await partner();
    const { id: role = '' } = await auth0.roles.create({ name: 'Gardener' });
    const { id: organization = '' } = await auth0.organizations.create({ name: 'garden' });
    await auth0.roles.users.assign(role, { users: [owner.id, other.id] });
    await auth0.organizations.members.create(organization, { members: [owner.id, other.id] });
    const listed = async () =>
      Promise.all(
        [`roles/${role}/users`, `organizations/${organization}/members`].map(async (path) => {
          const { body } = await ask('GET', `${path}?include_totals=true`);
          const ids = (body.users ?? body.members).map(({ user_id }: { user_id: string }) => user_id);
          return { total: body.total, ids };
        }),
      );
    const both = { total: 2, ids: [owner.id, other.id].sort() };
    expect(await listed()).toEqual([both, both]);
    await link(owner.id, other);
    const one = { total: 1, ids: [owner.id] };
    expect(await listed()).toEqual([one, one]);
    await auth0.users.identities.delete(owner.id, 'auth0', other.bare);
    expect(await listed()).toEqual([both, both]);
    for (const { id } of [owner, other]) await auth0.users.delete(id);
  });

  test('signs in the primary account, loses what it had of its own, and is an account of its own again once unlinked', async () => {
    const other = await partner();
    const before = await logIn(other.email);
    expect(await subjectOf(before)).toBe(other.id);
    const own = { connection: 'Username-Password-Authentication', provider: 'auth0', user_id: 'bob', isSocial: false };
    const theirs = { connection: 'Partners', provider: 'auth0', user_id: other.bare, isSocial: false };
    const profileData = expect.objectContaining({ email: other.email, email_verified: true });
    expect(await link(bob, other)).toEqual([own, { ...theirs, profileData }]);
    expect((await auth0.users.get(bob)).identities).toEqual([own, { ...theirs, profileData }]);

    expect((await userinfo(before.json.access_token as string)).status).toBe(401);
    expect((await refresh(before.json.refresh_token)).status).toBe(400);
    const after = await logIn(other.email);
    expect(await subjectOf(after)).toBe(bob);
    expect((await userinfo(after.json.access_token as string)).json.email).toBe('bob@example.com');

    // Nobody by himself: neither found nor changed under the old id.
    await expect(auth0.users.get(other.id)).rejects.toEqual(refusal(404, 'inexistent_user'));
    await expect(auth0.users.update(other.id, { blocked: true })).rejects.toEqual(refusal(404, 'inexistent_user'));
    await auth0.users.delete(other.id);
    expect(await auth0.users.listUsersByEmail({ email: other.email })).toEqual([]);
    const search = async (q: string) => (await auth0.users.list({ q })).data.map(({ user_id }) => user_id);
    expect(await search(`email:"${other.email}"`)).toEqual([]);
    expect(await search('identities.connection:Partners')).toEqual([bob]);
    expect(await search(`identities.user_id:"${other.bare}" AND identities.provider:auth0`)).toEqual([bob]);
    expect(await search(`identities.profileData.email:"${other.email}"`)).toEqual([bob]);

    expect(await auth0.users.identities.delete(bob, 'auth0', other.bare)).toEqual([own]);
    expect((await userinfo(after.json.access_token as string)).status).toBe(401);
    expect((await refresh(after.json.refresh_token)).status).toBe(400);
    expect(await subjectOf(await logIn(other.email))).toBe(other.id);
    expect((await auth0.users.get(other.id)).identities).toHaveLength(1);
  });

  test('that signs in by mail reaches the primary account, and codes sent before the linking no longer work', async () => {
    const other = await partner('email');
    await link(bob, other, 'email');
    const code = async () => {
      const { length } = await gate.mails(other.email);
      await gate.post('passwordless/start', {
        client_id,
        client_secret,
        connection: 'email',
        email: other.email,
        send: 'code',
      });
      const { text = '' } = await gate.mailTo(other.email, length);
      return /\b\d{6}\b/.exec(text)?.[0] ?? '';
    };
    const grant = {
      grant_type: 'http://auth0.com/oauth/grant-type/passwordless/otp',
      realm: 'email',
      client_id,
      client_secret,
      scope,
    };
    const tokens = await gate.post('oauth/token', { ...grant, username: other.email, otp: await code() });
    expect(await subjectOf(tokens)).toBe(bob);
    // Codes that were sent before a link are good no more.
    await auth0.users.identities.delete(bob, 'email', other.bare);
    const late = await code();
    await link(bob, other, 'email');
    const refused = await gate.post('oauth/token', { ...grant, username: other.email, otp: late });
    expect(refused.json.error).toBe('invalid_grant');
    await auth0.users.identities.delete(bob, 'email', other.bare);
  });

  test('is blocked with its primary account, and opens nothing that is blocked', async () => {
    const other = await partner();
    const owner = await partner();
    await link(owner.id, other);
    await auth0.users.update(owner.id, { blocked: true });
    expect((await logIn(other.email)).json.error).toBe('invalid_grant');
    await auth0.users.update(owner.id, { blocked: false });
    expect(await subjectOf(await logIn(other.email))).toBe(owner.id);
    for (let tries = 0; tries < 10; tries += 1) await logIn(other.email, 'wrong');
    const { blocked_for } = await auth0.userBlocks.list(owner.id);
    expect(blocked_for).toEqual([expect.objectContaining({ identifier: other.email, connection: 'Partners' })]);
    await auth0.userBlocks.delete(owner.id);
    expect(await subjectOf(await logIn(other.email))).toBe(owner.id);
  });

  test('is deleted with its primary account, and its address becomes free', async () => {
    const other = await partner();
    const owner = await partner();
    await link(owner.id, other);
    const { json } = await logIn(other.email);
    await auth0.users.delete(owner.id);
    expect((await userinfo(json.access_token as string)).status).toBe(401);
    expect((await logIn(other.email)).json.error).toBe('invalid_grant');
    await auth0.users.create({ connection: 'Partners', email: other.email, password });
  });

  test('with a password changed by mail ends the sessions and tokens of the primary account', async () => {
    const other = await partner();
    await link(bob, other);
    const browser = new Browser(gate);
    const { request, accessToken } = await signIn(browser, 'bob@example.com');
    await gate.post('dbconnections/change_password', {
      client_id: 'third',
      connection: 'Partners',
      email: other.email,
    });
    const page = await browser.get(linkIn(await gate.mailTo(other.email)));
    await browser.submit(page, { password: 'quite another secret' });
    expect((await userinfo(accessToken)).status).toBe(401);
    const silent = await browser.authorize({ ...request, ...pkce(), prompt: 'none' });
    expect(silent.location?.searchParams.get('error')).toBe('login_required');
    expect(await subjectOf(await logIn(other.email, 'quite another secret'))).toBe(bob);
    await auth0.users.identities.delete(bob, 'auth0', other.bare);
  });
});

describe('a person who has signed in to both accounts', () => {
  test('can link them with the second account’s ID token, but with no other token of ours and with none from before', async () => {
    const other = await partner();
    const { json } = await logIn(other.email);
    const id_token = String(json.id_token);
    for (const link_with of [String(json.access_token), String(json.refresh_token), `${id_token.slice(0, -8)}AAAAAAAA`])
      await expect(auth0.users.identities.link(bob, { link_with })).rejects.toEqual(refusal(400, 'invalid_body'));
    await expect(
      auth0.users.identities.link(bob, { link_with: id_token, provider: 'auth0', user_id: other.bare }),
    ).rejects.toEqual(refusal(400, 'invalid_body'));
    expect(await auth0.users.identities.link(bob, { link_with: id_token })).toMatchObject([
      {},
      { user_id: other.bare },
    ]);
    await auth0.users.identities.delete(bob, 'auth0', other.bare);
    // Its sessions have ended.
    await expect(auth0.users.identities.link(bob, { link_with: id_token })).rejects.toEqual(
      refusal(400, 'invalid_body'),
    );
  });

  test('cannot link them with a token of a deleted account, even if another account has its id now', async () => {
    const before = await partner();
    const { json } = await logIn(before.email);
    await auth0.users.delete(before.id);
    const again = await until('a later second', async () => {
      const now = { connection: 'Partners', email: before.email, password, user_id: before.bare };
      return Date.now() / 1_000 > Number(claimsOf(json.id_token).iat) + 1 && auth0.users.create(now);
    });
    expect(again.user_id).toBe(before.id);
    await expect(auth0.users.identities.link(bob, { link_with: String(json.id_token) })).rejects.toEqual(
      refusal(400, 'invalid_body'),
    );
  });

  test('cannot link them after only the first of two factors', async () => {
    const other = await partner();
    const { json } = await logIn(other.email);
    await auth0.users.authenticationMethods.create(other.id, { type: 'totp', totp_secret: 'JBSWY3DPEHPK3PXP' });
    await expect(auth0.users.identities.link(bob, { link_with: String(json.id_token) })).rejects.toEqual(
      refusal(403, 'mfa_required'),
    );
  });
});

describe('linking is refused', () => {
  test('for an unknown, linked or blocked account, for one with identities of its own, and to nobody', async () => {
    const [one, two, three] = [await partner(), await partner(), await partner()];
    await link(one.id, two);
    const nobody = { bare: 'nobody' };
    await expect(link(bob, nobody)).rejects.toEqual(refusal(404, 'inexistent_user'));
    await expect(link(bob, one, 'email')).rejects.toEqual(refusal(404, 'inexistent_user'));
    await expect(link('auth0|nobody', one)).rejects.toEqual(refusal(404, 'inexistent_user'));
    await expect(link(two.id, three)).rejects.toEqual(refusal(404, 'inexistent_user'));
    await expect(link(bob, { bare: 'bob' })).rejects.toEqual(refusal(400, 'invalid_body'));
    await expect(link(bob, two)).rejects.toEqual(refusal(409, 'identity_conflict'));
    await expect(link(bob, one)).rejects.toEqual(refusal(409, 'identity_conflict'));
    await auth0.users.update(three.id, { blocked: true });
    await expect(link(bob, three)).rejects.toEqual(refusal(400, 'invalid_body'));
    await expect(auth0.users.identities.link(bob, { link_with: 'x.y.z' })).rejects.toEqual(
      refusal(400, 'invalid_body'),
    );
    await expect(auth0.users.identities.link(bob, {})).rejects.toEqual(refusal(400, 'invalid_body'));
    await expect(auth0.users.identities.delete(bob, 'auth0', 'bob')).rejects.toEqual(
      refusal(400, 'operation_not_supported'),
    );
    await expect(auth0.users.identities.delete(bob, 'auth0', two.bare)).rejects.toEqual(
      refusal(404, 'inexistent_identity'),
    );
  });

  test('without its scope, and never happens because of an equal address', async () => {
    const other = await partner();
    const reader = clientOf('reader').users.identities;
    await expect(reader.link(bob, { provider: 'auth0', user_id: other.bare })).rejects.toEqual(refusal(403));
    await expect(reader.delete(bob, 'auth0', other.bare)).rejects.toEqual(refusal(403));
    // Somebody of another connection takes Bob's address as his, unproven.
    const { user_id } = await auth0.users.create({ connection: 'Partners', email: 'bob@example.com', password });
    expect(await subjectOf(await logIn('bob@example.com'))).toBe(user_id);
    expect((await auth0.users.get(bob)).identities).toHaveLength(1);
  });

  test('for all but one of two accounts that are linked to each other at the same moment', async () => {
    const [one, two] = [await partner(), await partner()];
    const answers = await Promise.all(
      [
        [one, two],
        [two, one],
      ].map(([primary, secondary]) =>
        ask('POST', `users/${encodeURIComponent(primary!.id)}/identities`, {
          provider: 'auth0',
          user_id: secondary!.id,
        }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, expect.any(Number)]);
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
  });
});
