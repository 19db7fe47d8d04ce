/** Nobody gets a token of an organization that they are not in, whatever they ask for and wherever. */
import { Browser, type Page } from '@gatepost/testkit/browser';
import { pkce } from '@gatepost/testkit/pkce';
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import pg from 'pg';
import { openManagement } from '../management/target.ts';
import { api } from '../seeds.ts';

const redirect_uri = 'https://app.example/cb';
const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const { gate, auth0, ask, audience } = stack.use(await openManagement());
const { members } = auth0.organizations;
let mine = '';
let theirs = '';
let boss = '';

type Form = Record<string, string>;

beforeAll(async () => {
  await ask('PATCH', `resource-servers/${encodeURIComponent(api)}`, { enforce_policies: true });
  await ask('PATCH', 'clients/spa', { organization_usage: 'allow' });
  mine = (await auth0.organizations.create({ name: 'mine' })).id!;
  theirs = (await auth0.organizations.create({ name: 'theirs' })).id!;
  boss = (await auth0.roles.create({ name: 'Boss' })).id!;
  const permission = (permission_name: string, resource_server_identifier: string) => ({
    permission_name,
    resource_server_identifier,
  });
  await auth0.roles.permissions.add(boss, {
    permissions: [permission('admin:x', api), permission('read:users', audience)],
  });
  await members.create(mine, { members: ['auth0|bob'] });
  await members.create(theirs, { members: ['auth0|bob', 'auth0|carol'] });
});

async function authorize(given: Form, browser: Browser, email = 'bob@example.com') {
  const { code_verifier, ...challenge } = pkce();
  const request = {
    client_id: 'spa',
    redirect_uri,
    response_type: 'code',
    scope: 'openid admin:x offline_access',
    audience: api,
  };
  let page = await browser.authorize({ ...request, ...challenge, ...given });
  if (!page.location) page = await browser.logIn(page, email);
  if (!page.location) page = await browser.submit(page, { action: 'default' });
  const { searchParams, hash } = page.location!;
  const answer = Object.fromEntries(hash ? new URLSearchParams(hash.slice(1)) : searchParams) as Form;
  const form = {
    grant_type: 'authorization_code',
    client_id: 'spa',
    redirect_uri,
    code: answer.code ?? '',
    code_verifier,
  };
  return { answer, form };
}
const redeem = async (form: Form) => (await gate.post('oauth/token', form)).json as Form;
const signIn = async (given: Form, email?: string, browser = new Browser(gate)) =>
  redeem((await authorize(given, browser, email)).form);
const refresh = (token: string, more: Form = {}) =>
  redeem({ grant_type: 'refresh_token', client_id: 'spa', refresh_token: token, ...more });
const claimsOf = ({ access_token }: Form) => decodeJwt(access_token!) as Record<string, unknown>;

test.each([
  ['code', {}],
  ['id_token token', { nonce: 'n' }],
  ['code id_token', { nonce: 'n' }],
])('a non-member gets nothing of an organization by response_type=%s', async (response_type, more) => {
  const { answer } = await authorize(
    { organization: mine, response_type, ...more },
    new Browser(gate),
    'carol@example.com',
  );
  expect(answer).toMatchObject({ error: 'access_denied' });
  expect(answer).not.toHaveProperty('code');
  expect(answer).not.toHaveProperty('id_token');
});

test('a refresh or a code exchange cannot lead a token into another organization', async () => {
  const tokens = await signIn({ organization: theirs }, 'carol@example.com');
  for (const organization of [mine, 'mine'])
    expect(
      claimsOf(
        await refresh((await signIn({ organization: theirs }, 'carol@example.com')).refresh_token!, { organization }),
      ),
    ).toMatchObject({
      org_id: theirs,
    });
  expect(claimsOf(tokens)).toMatchObject({ org_id: theirs });
  const { form } = await authorize({}, new Browser(gate), 'carol@example.com');
  expect(claimsOf(await redeem({ ...form, organization: mine }))).not.toHaveProperty('org_id');
});

test('a role in one organization is worth nothing in another, outside it, or at the management API', async () => {
  await members.roles.assign(theirs, 'auth0|bob', { roles: [boss] });
  expect(claimsOf(await signIn({ organization: theirs })).scope).toBe('openid admin:x offline_access');
  expect(claimsOf(await signIn({ organization: mine })).scope).toBe('openid offline_access');
  expect(claimsOf(await signIn({})).scope).toBe('openid offline_access');
  const managing = await signIn({ organization: theirs, audience, scope: 'openid read:users' });
  expect(claimsOf(managing).scope).toBe('openid');
  await members.roles.delete(theirs, 'auth0|bob', { roles: [boss] });
});

test('a member who is removed while requesting an organization’s tokens gets none', async () => {
  const browser = new Browser(gate);
  await signIn({}, 'bob@example.com', browser);
  const { id } = await auth0.organizations.create({ name: 'fleeting' });
  await members.create(id!, { members: ['auth0|bob'] });
  const db = new pg.Client({ connectionString: gate.databaseUrl, options: '-c search_path=auth' });
  await db.connect();
  try {
    await db.query('BEGIN');
    await db.query('DELETE FROM organization_members WHERE organization_id = $1', [id]);
    const asked = authorize({ organization: id! }, browser);
    const waits = until('it waits for that, or has its answer', async () => {
      // For us: others wait for locks on this server as well.
      const waiting = 'SELECT FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))';
      return ((await db.query(waiting)).rowCount ?? 0) > 0;
    });
    await Promise.race([asked, waits]);
    await db.query('COMMIT');
    expect((await asked).answer).toMatchObject({ error: 'access_denied' });
  } finally {
    await db.end();
  }
});

test('an organization admits nobody through a connection that it does not name, even with a linked identity of one that it does', async () => {
  const { id: works = '' } = await auth0.connections.create({ name: 'Works', strategy: 'auth0' });
  const given = { email: 'bob@works.example', password: 'correct horse battery staple' };
  const { user_id = '' } = await auth0.users.create({ connection: 'Works', ...given });
  await auth0.users.identities.link('auth0|bob', { provider: 'auth0', user_id: user_id.replace('auth0|', '') });
  const { id = '' } = await auth0.organizations.create({
    name: 'works',
    enabled_connections: [{ connection_id: works }],
  });
  await members.create(id, { members: ['auth0|bob'] });
  const browser = new Browser(gate);
  await signIn({}, 'bob@example.com', browser);
  // The password of his own account, or a session by it, is not what the organization asks for.
  expect((await authorize({ organization: id, prompt: 'none' }, browser)).answer.error).toBe('login_required');
  const { code_challenge, code_challenge_method } = pkce();
  const challenge = { code_challenge, code_challenge_method };
  const asked = { client_id: 'spa', redirect_uri, response_type: 'code', scope: 'openid', ...challenge };
  const isLoginPage = ({ location, html }: Page) => !location && html.includes('name="identifier"');
  expect(isLoginPage(await browser.authorize({ ...asked, organization: id }))).toBe(true);
  // Who chooses it is asked for that, not refused.
  await ask('PATCH', 'clients/spa', {
    organization_usage: 'require',
    organization_require_behavior: 'post_login_prompt',
  });
  const choice = await browser.authorize(asked);
  expect(isLoginPage(await browser.submit(choice, { organization: id }))).toBe(true);
  await ask('PATCH', 'clients/spa', { organization_usage: 'allow', organization_require_behavior: 'no_prompt' });
  const { answer, form } = await authorize({ organization: id }, browser, given.email);
  expect([answer.error, claimsOf(await redeem(form))]).toMatchObject([undefined, { org_id: id, sub: 'auth0|bob' }]);
  // This session is by the right one.
  expect((await authorize({ organization: id, prompt: 'none' }, browser)).answer.error).toBeUndefined();
  await auth0.organizations.delete(id);
});

test('a person refused by an action joins nothing: the invitation stays open, and no connection makes them a member', async () => {
  await ask('PATCH', 'clients/spa', { initiate_login_uri: 'https://app.example/login' });
  const { id = '' } = await auth0.organizations.create({ name: 'careful' });
  const { invitation_url = '' } = await auth0.organizations.invitations.create(id, {
    inviter: { name: 'x' },
    invitee: { email: 'carol@example.com' },
    client_id: 'spa',
    roles: [boss],
  });
  const invitation = new URL(invitation_url).searchParams.get('invitation')!;
  const code = `exports.onExecutePostLogin = async (event, api) => {
    if (event.user.app_metadata.refused) api.access.deny(event.authorization.roles.join());
  };`;
  const supported_triggers = [{ id: 'post-login' }];
  const action = await ask('POST', 'actions/actions', { name: 'refuse', supported_triggers, code, deploy: true });
  const bind = (bindings: object[]) => ask('PATCH', 'actions/triggers/post-login/bindings', { bindings });
  await bind([{ ref: { type: 'action_id', value: action.body.id } }]);
  const refuse = (refused: boolean | null) => ask('PATCH', 'users/auth0%7Ccarol', { app_metadata: { refused } });
  const isMember = async () =>
    (await ask('GET', `organizations/${id}/members`)).body.some(({ user_id }: Form) => user_id === 'auth0|carol');
  const carols = (given: Form) => authorize({ organization: id, ...given }, new Browser(gate), 'carol@example.com');

  await refuse(true);
  const refused = await carols({ invitation });
  expect([refused.answer, await isMember()]).toMatchObject([
    { error: 'access_denied', error_description: 'Boss' },
    false,
  ]);
  await auth0.organizations.enabledConnections.add(id, {
    connection_id: 'con_Username-Password-Authentication',
    assign_membership_on_login: true,
  });
  expect([(await carols({})).answer.error, await isMember()]).toEqual(['access_denied', false]);

  await refuse(null);
  const { form } = await carols({ invitation });
  expect(claimsOf(await redeem(form))).toMatchObject({ org_id: id, scope: 'openid admin:x offline_access' });
  expect(await isMember()).toBe(true);
  expect((await carols({ invitation })).answer).toMatchObject({ error: 'invalid_request' });
  await bind([]);
  await auth0.organizations.delete(id);
});

test('a member’s lost role is gone at the next refresh, and a former member or a deleted organization has no refresh', async () => {
  await members.roles.assign(theirs, 'auth0|bob', { roles: [boss] });
  let tokens = await signIn({ organization: theirs });
  await members.roles.delete(theirs, 'auth0|bob', { roles: [boss] });
  tokens = await refresh(tokens.refresh_token!);
  expect(claimsOf(tokens).scope).toBe('openid offline_access');
  const userinfo = () => gate.get('userinfo', { authorization: `Bearer ${tokens.access_token}` });
  expect((await userinfo()).status).toBe(200);
  const { id = '' } = await auth0.organizations.create({ name: 'brief' });
  await members.create(id, { members: ['auth0|bob'] });
  const brief = await signIn({ organization: id });
  await auth0.organizations.delete(id);
  expect(await refresh(brief.refresh_token!)).toMatchObject({ error: 'invalid_grant' });
  await members.delete(theirs, { members: ['auth0|bob'] });
  expect((await userinfo()).status).toBe(401);
  expect(await refresh(tokens.refresh_token!)).toMatchObject({ error: 'invalid_grant' });
});

test('a consent or a session for one organization admits nobody to another', async () => {
  const browser = new Browser(gate);
  await signIn({ organization: theirs }, 'carol@example.com', browser);
  const { answer } = await authorize({ organization: mine, prompt: 'none' }, browser);
  expect(answer).toMatchObject({ error: 'login_required' });
  const again = await signIn({}, 'carol@example.com', browser);
  expect(claimsOf(again)).not.toHaveProperty('org_id');
});

test('an application that requires an organization cannot be used without one', async () => {
  await ask('PATCH', 'clients/trusted', { organization_usage: 'require' });
  const form = {
    client_id: 'trusted',
    client_secret: 'trusted-secret',
    username: 'bob@example.com',
    password: 'correct horse battery staple',
  };
  expect(await redeem({ grant_type: 'password', ...form })).toMatchObject({ error: 'unauthorized_client' });
});

test('an invitation is refused for another organization or application, and an invented one always', async () => {
  await ask('PATCH', 'clients/spa', { initiate_login_uri: 'https://app.example/login' });
  await ask('PATCH', 'clients/web', { organization_usage: 'allow' });
  const { ticket_id: invitation = '' } = await auth0.organizations.invitations.create(theirs, {
    inviter: { name: 'x' },
    invitee: { email: 'alice@example.com' },
    client_id: 'spa',
  });
  const tries: Form[] = [
    { organization: mine, invitation },
    { invitation },
    { client_id: 'web', organization: theirs, invitation },
    { organization: theirs, invitation: 'x'.repeat(32) },
  ];
  for (const given of tries)
    expect((await authorize(given, new Browser(gate), 'alice@example.com')).answer).toMatchObject({
      error: 'invalid_request',
    });
  const [accepted, ...others] = await Promise.all(
    Array.from({ length: 5 }, () =>
      authorize({ organization: theirs, invitation }, new Browser(gate), 'alice@example.com'),
    ),
  );
  // By then she is a member, whichever of them has spent it.
  for (const { answer } of [accepted!, ...others]) expect(answer.error ?? 'none').toMatch(/^(none|invalid_request)$/);
  const { body } = await ask('GET', `organizations/${theirs}/members`);
  expect(body.filter(({ user_id }: Form) => user_id === 'auth0|alice')).toHaveLength(1);
});
