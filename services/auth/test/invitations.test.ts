/** Invitations into an organization (https://auth0.com/docs/manage-users/organizations/configure-organizations/invite-members). */
import { Browser } from '@gatepost/testkit/browser';
import { pkce } from '@gatepost/testkit/pkce';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { all, openManagement, refusal } from './management/target.ts';

const redirect_uri = 'https://app.example/cb';
const password = 'correct horse battery staple';
const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const { gate, auth0, ask } = stack.use(await openManagement());
const { invitations, members } = auth0.organizations;
let orchard = '';
let role = '';

beforeAll(async () => {
  const initiate_login_uri = 'https://app.example/login?from=mail';
  await ask('PATCH', 'clients/spa', { organization_usage: 'allow', initiate_login_uri });
  orchard = (await auth0.organizations.create({ name: 'orchard', display_name: 'Orchard Ltd' })).id!;
  role = (await auth0.roles.create({ name: 'Editor' })).id!;
});

const invite = (email: string, more: object = {}) =>
  invitations.create(orchard, { inviter: { name: 'Alice' }, invitee: { email }, client_id: 'spa', ...more });

/** As the application does: it goes on to the gate with what the link brought. */
async function follow(url: string, browser = new Browser(gate)) {
  const { code_verifier, ...challenge } = pkce();
  const { invitation, organization } = Object.fromEntries(new URL(url).searchParams) as Record<string, string>;
  const request = { client_id: 'spa', redirect_uri, response_type: 'code', scope: 'openid', ...challenge };
  const page = await browser.authorize({ ...request, invitation: invitation!, organization: organization! });
  return { browser, page, code_verifier };
}
const answerOf = ({ location }: { location?: URL | undefined }) => Object.fromEntries(location?.searchParams ?? []);

test('an invited newcomer signs up through the mailed link and becomes a member, with roles and metadata that tokens name', async () => {
  const made = await invite('Maria@Example.com', { roles: [role], user_metadata: { colour: 'green' } });
  expect(made).toMatchObject({
    id: expect.stringMatching(/^uinv_/),
    organization_id: orchard,
    invitee: { email: 'maria@example.com' },
    roles: [role],
  });
  const { text } = await gate.mailTo('maria@example.com');
  expect(text).toContain('Alice invites you to join Orchard Ltd on Single Page.');
  expect(text).toContain(`invitation=${made.ticket_id}`);

  const { browser, page, code_verifier } = await follow(made.invitation_url!);
  expect(page.html).toContain('value="maria@example.com"');
  const done = await browser.submit(page, { email: 'maria@example.com', password });
  const form = { grant_type: 'authorization_code', client_id: 'spa', redirect_uri, code_verifier };
  const { json } = await gate.post('oauth/token', { ...form, code: answerOf(done).code! });
  expect(decodeJwt(json.id_token as string)).toMatchObject({ org_id: orchard, org_name: 'orchard' });
  const [member] = await all(await members.list(orchard));
  expect(member).toMatchObject({ email: 'maria@example.com' });
  expect(await all(await members.roles.list(orchard, member!.user_id!))).toMatchObject([{ id: role }]);
  expect(await auth0.users.get(member!.user_id!)).toMatchObject({ user_metadata: { colour: 'green' } });
  expect(await all(await invitations.list(orchard))).toEqual([]);
  expect(answerOf((await follow(made.invitation_url!)).page)).toMatchObject({ error: 'invalid_request' });
});

test('an invited person with an account signs in through the link, which is shown once and can be revoked', async () => {
  const { id = '', invitation_url } = await invite('bob@example.com', { send_invitation_email: false });
  expect(await invitations.get(orchard, id)).not.toHaveProperty('invitation_url');
  const { browser, page } = await follow(invitation_url!);
  expect(page.html).toContain('name="identifier"');
  expect(answerOf(await browser.logIn(page, 'bob@example.com'))).toHaveProperty('code');
  expect((await ask('GET', 'users/auth0%7Cbob/organizations')).body).toMatchObject([{ id: orchard }]);

  const { id: other = '', invitation_url: gone } = await invite('carol@example.com');
  await invitations.delete(orchard, other);
  expect(answerOf((await follow(gone!)).page)).toMatchObject({ error: 'invalid_request' });
  await expect(invitations.get(orchard, other)).rejects.toEqual(refusal(404));
});

test('another person with the invitation link is refused, also in their own session, and the invitation stays open', async () => {
  const { invitation_url } = await invite('carol@example.com');
  const browser = new Browser(gate);
  await browser.logIn(
    await browser.authorize({ client_id: 'spa', redirect_uri, response_type: 'code', scope: 'openid', ...pkce() }),
    'alice@example.com',
  );
  const { page } = await follow(invitation_url!, browser);
  const refused = await browser.logIn(page, 'alice@example.com');
  expect(answerOf(refused)).toMatchObject({
    error: 'access_denied',
    error_description: 'the specified account is not allowed to accept the current invitation',
  });
  expect((await ask('GET', 'users/auth0%7Calice/organizations')).body).toEqual([]);
  const { browser: own, page: hers } = await follow(invitation_url!);
  expect(answerOf(await own.logIn(hers, 'carol@example.com'))).toHaveProperty('code');
});

test('an invitation that names a connection is accepted only by somebody who signs in there', async () => {
  // The application does not offer it, so he can only sign up elsewhere.
  const works = { name: 'Works', strategy: 'auth0' as const, enabled_clients: ['web'] };
  const { id = '' } = await auth0.connections.create(works);
  const by = async (connection_id: string) =>
    follow((await invite('dave@example.com', { connection_id })).invitation_url!);
  const { browser, page } = await by(id);
  const signedUp = await browser.submit(page, { email: 'dave@example.com', password });
  expect(answerOf(signedUp)).toMatchObject({
    error: 'access_denied',
    error_description: 'the specified account is not allowed to accept the current invitation',
  });
  expect(await all(await members.list(orchard))).not.toContainEqual(
    expect.objectContaining({ email: 'dave@example.com' }),
  );
  expect((await by('con_email')).page.html).not.toContain('name="password"');
  const [own] = await all(await auth0.connections.list({ name: 'Username-Password-Authentication' }));
  const again = await by(own!.id!);
  expect(answerOf(await again.browser.logIn(again.page, 'dave@example.com', password))).toHaveProperty('code');
});

test('an invitation cannot name a connection that the organization does not accept', async () => {
  const { id: works = '' } = await auth0.connections.create({ name: 'Workshop', strategy: 'auth0' });
  const { id: team = '' } = await auth0.organizations.create({
    name: 'team',
    enabled_connections: [{ connection_id: 'con_email' }],
  });
  const given = { inviter: { name: 'Alice' }, invitee: { email: 'heidi@example.com' }, client_id: 'spa' };
  const by = (connection_id: string) => invitations.create(team, { ...given, connection_id });
  await expect(by(works)).rejects.toEqual(refusal(400, 'invalid_body'));
  await expect(by('con_none')).rejects.toEqual(refusal(404, 'inexistent_connection'));
  expect(await all(await invitations.list(team))).toEqual([]);
  expect(await by('con_email')).toMatchObject({ connection_id: 'con_email' });
});

test('an invited newcomer signs up in the database that the invitation names, or gets a code by its passwordless connection', async () => {
  const mill = { name: 'Mill', strategy: 'auth0' as const, enabled_clients: ['spa'] };
  const { id: connection_id } = await auth0.connections.create(mill);
  const email = 'erin@example.com';
  const { browser, page } = await follow((await invite(email, { connection_id })).invitation_url!);
  expect(answerOf(await browser.submit(page, { email, password }))).toHaveProperty('code');
  expect(await auth0.users.listUsersByEmail({ email })).toMatchObject([{ identities: [{ connection: 'Mill' }] }]);
  expect(await all(await members.list(orchard))).toContainEqual(expect.objectContaining({ email }));
  // Also where one page asks for address and password.
  await ask('PATCH', 'prompts', { identifier_first: false });
  const byCode = await follow((await invite('finn@example.com', { connection_id: 'con_email' })).invitation_url!);
  await ask('PATCH', 'prompts', { identifier_first: true });
  expect(byCode.page.html).toContain('name="identifier"');
  expect(byCode.page.html).not.toContain('name="password"');
});

test('an invitation needs an application for organizations, and its login address', async () => {
  const spa = (change: object) => ask('PATCH', 'clients/spa', change);
  await spa({ initiate_login_uri: null });
  await expect(invite('x@example.com')).rejects.toEqual(refusal(400, 'invalid_body'));
  await spa({ organization_usage: null, initiate_login_uri: 'https://app.example/login' });
  await expect(invite('x@example.com')).rejects.toEqual(refusal(400, 'invalid_body'));
  await spa({ organization_usage: 'allow' });
  await expect(invite('x@example.com', { roles: ['rol_none'] })).rejects.toEqual(refusal(404, 'inexistent_role'));
});

test('an invitation mail shows the organization’s branding, in our text or the tenant’s', async () => {
  const branding = {
    logo_url: 'https://cdn.example/guild.png',
    colors: { primary: '#0a5c2f', page_background: '#ffffff' },
  };
  const { id = '' } = await auth0.organizations.create({
    name: 'guild',
    display_name: 'Guild',
    branding,
    metadata: { plan: 'gold' },
  });
  const mailTo = async (email: string) => {
    await invitations.create(id, { inviter: { name: 'Alice' }, invitee: { email }, client_id: 'spa' });
    return (await gate.mailTo(email)).html!;
  };
  const html = await mailTo('first@example.com');
  expect(html).toContain(branding.logo_url);
  expect(html).toContain(branding.colors.primary);
  const body =
    '<p>{{ organization.id }} {{ organization.metadata.plan }} {{ organization.branding.colors.primary }} {{ organization.display_name }}</p>';
  const template = {
    template: 'user_invitation',
    body,
    from: 'a@example.com',
    subject: 's',
    syntax: 'liquid',
    enabled: true,
  };
  expect((await ask('POST', 'email-templates', template)).status).toBe(200);
  expect(await mailTo('second@example.com')).toContain(`<p>${id} gold #0a5c2f Guild</p>`);
});
