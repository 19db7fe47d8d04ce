/** Signing in to an organization (https://auth0.com/docs/manage-users/organizations): who may, by what, and what tokens say. */
import { Browser } from '@gatepost/testkit/browser';
import { pkce } from '@gatepost/testkit/pkce';
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { linkIn } from './gate.ts';
import { openManagement } from './management/target.ts';

const api = 'https://api.example.com/';
const redirect_uri = 'https://app.example/cb';
const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const { gate, auth0, ask } = stack.use(await openManagement());
let orchard = '';
let mill = '';
let editor = '';

beforeAll(async () => {
  await ask('PATCH', `resource-servers/${encodeURIComponent(api)}`, { enforce_policies: true });
  for (const id of ['web', 'spa']) await ask('PATCH', `clients/${id}`, { organization_usage: 'allow' });
  orchard = (await auth0.organizations.create({ name: 'orchard', display_name: 'Orchard Ltd' })).id!;
  mill = (await auth0.organizations.create({ name: 'mill' })).id!;
  editor = (await auth0.roles.create({ name: 'Editor' })).id!;
  const permission = (permission_name: string) => ({ resource_server_identifier: api, permission_name });
  await auth0.roles.permissions.add(editor, { permissions: [permission('write:x')] });
  await auth0.users.permissions.create('auth0|alice', { permissions: [permission('read:x')] });
  for (const id of [orchard, mill]) await auth0.organizations.members.create(id, { members: ['auth0|alice'] });
  await auth0.organizations.members.roles.assign(orchard, 'auth0|alice', { roles: [editor] });
});

type Form = Record<string, string>;
type Answer = { error?: string; error_description?: string; code?: string };

async function authorize(given: Form, browser: Browser, email = 'alice@example.com') {
  const { code_verifier, ...challenge } = pkce();
  const request = {
    client_id: 'spa',
    redirect_uri,
    response_type: 'code',
    scope: 'openid read:x write:x offline_access',
    audience: api,
    ...challenge,
    ...given,
  };
  let page = await browser.authorize(request);
  const asked = !page.location;
  if (!page.location) page = await browser.logIn(page, email);
  const answer = Object.fromEntries(page.location!.searchParams) as Answer;
  return {
    answer,
    asked,
    form: { grant_type: 'authorization_code', client_id: 'spa', redirect_uri, code: answer.code ?? '', code_verifier },
  };
}

async function redeem(form: Form) {
  const { status, json } = await gate.post('oauth/token', form);
  const { access_token: access, id_token: id, refresh_token: refresh } = json as Form;
  return { status, json, refresh: refresh!, access: access ? decodeJwt(access) : {}, id: id ? decodeJwt(id) : {} };
}
const signIn = async (given: Form, browser = new Browser(gate), email?: string) =>
  redeem((await authorize(given, browser, email)).form);
const refresh = (refresh_token: string) => redeem({ grant_type: 'refresh_token', client_id: 'spa', refresh_token });

test.each([
  ['its id', () => orchard],
  ['its name, in any case', () => 'Orchard'],
])(
  'a member signs in to an organization by %s, and tokens name it with the member’s permissions there',
  async (_, name) => {
    const { access, id, refresh: token } = await signIn({ organization: name() });
    const claims = { org_id: orchard, org_name: 'orchard' };
    expect(id).toMatchObject(claims);
    expect(access).toMatchObject({ ...claims, scope: 'openid read:x write:x offline_access' });
    const next = await refresh(token);
    expect(next.access).toMatchObject({ ...claims, scope: 'openid read:x write:x offline_access' });
    expect(next.id).toMatchObject(claims);
  },
);

test('one session signs in to several organizations and to none, with separate tokens for each', async () => {
  const browser = new Browser(gate);
  const first = await signIn({ organization: orchard }, browser);
  const second = await signIn({ organization: 'mill' }, browser);
  const third = await signIn({}, browser);
  expect(second.access).toMatchObject({ org_id: mill, org_name: 'mill', scope: 'openid read:x offline_access' });
  expect(third.access).not.toHaveProperty('org_id');
  expect(third.id).not.toHaveProperty('org_id');
  expect((await refresh(first.refresh)).access).toMatchObject({ org_id: orchard });
  expect((await refresh(third.refresh)).access).not.toHaveProperty('org_id');
});

test('somebody who is not a member gets Auth0’s error, and another person’s session leads to the login page', async () => {
  const browser = new Browser(gate);
  await signIn({}, browser, 'bob@example.com');
  const { answer, asked } = await authorize({ organization: orchard }, browser, 'bob@example.com');
  expect(asked).toBe(true);
  expect(answer).toMatchObject({
    error: 'access_denied',
    error_description: `user auth0|bob is not part of the ${orchard} organization`,
  });
  const silent = await authorize({ organization: orchard, prompt: 'none' }, browser);
  expect(silent.answer).toMatchObject({ error: 'login_required' });
});

test('a member who leaves an organization gets no more tokens of it', async () => {
  await auth0.organizations.members.create(mill, { members: ['auth0|bob'] });
  const browser = new Browser(gate);
  const { refresh: token } = await signIn({ organization: mill }, browser, 'bob@example.com');
  const own = await signIn({}, browser, 'bob@example.com');
  await auth0.organizations.members.delete(mill, { members: ['auth0|bob'] });
  expect(await refresh(token)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
  expect((await refresh(own.refresh)).status).toBe(200);
});

describe('an application’s organization setting', () => {
  const usage = (organization_usage: string | null) => ask('PATCH', 'clients/spa', { organization_usage });

  test.each([
    ['deny', { organization: 'orchard' }, 'parameter organization is not allowed for this client'],
    [null, { organization: 'orchard' }, 'parameter organization is not allowed for this client'],
    ['require', {}, 'parameter organization is required for this client'],
    ['allow', { organization: 'none-such' }, 'parameter organization is invalid'],
  ])('the setting %s refuses a request with %j', async (value, given, error_description) => {
    await usage(value);
    const { answer } = await authorize(given as Form, new Browser(gate));
    expect(answer).toMatchObject({ error: 'invalid_request', error_description });
    await usage('allow');
  });
});

describe('an application that requires an organization when the request names none', () => {
  const behavior = (organization_require_behavior: string) =>
    ask('PATCH', 'clients/spa', { organization_usage: 'require', organization_require_behavior });
  afterAll(() => ask('PATCH', 'clients/spa', { organization_usage: 'allow', organization_require_behavior: null }));
  const request = () => ({
    client_id: 'spa',
    redirect_uri,
    response_type: 'code',
    scope: 'openid',
    audience: api,
    ...pkce(),
  });
  const begin = async (browser: Browser, more: Form = {}) => {
    const { code_verifier, ...params } = { ...request(), ...more };
    return { page: await browser.authorize(params), code_verifier };
  };
  const claimsOf = async (location: URL | undefined, code_verifier: string) => {
    const code = location?.searchParams.get('code') ?? '';
    const form = { grant_type: 'authorization_code', client_id: 'spa', redirect_uri, code, code_verifier };
    return (await redeem(form)).id;
  };

  test('asks for the organization’s name before the login, again after a wrong one, and in a session too', async () => {
    await behavior('pre_login_prompt');
    const browser = new Browser(gate);
    const { page, code_verifier } = await begin(browser);
    expect(page.html).toContain('Which organization do you belong to?');
    const again = await browser.submit(page, { organization: '<b>orchrad' });
    expect(again.html).toContain('no organization with that name');
    expect(again.html).toContain('value="&lt;b&gt;orchrad"');
    const login = await browser.submit(again, { organization: ' Orchard ' });
    const done = await browser.logIn(login, 'alice@example.com');
    expect(await claimsOf(done.location, code_verifier)).toMatchObject({ org_id: orchard, org_name: 'orchard' });
    const second = await begin(browser);
    const back = await browser.submit(second.page, { organization: 'mill' });
    expect(await claimsOf(back.location, second.code_verifier)).toMatchObject({ org_id: mill });
    // Whoever is not in it learns that after the login, as ever.
    const stranger = new Browser(gate);
    const named = await stranger.submit((await begin(stranger)).page, { organization: 'orchard' });
    const refused = await stranger.logIn(named, 'carol@example.com');
    expect(refused.location?.searchParams.get('error')).toBe('access_denied');
  });

  test('offers the person’s own organizations after the login, and chooses it if there is only one', async () => {
    await behavior('post_login_prompt');
    const browser = new Browser(gate);
    const { page, code_verifier } = await begin(browser);
    const choice = await browser.logIn(page, 'alice@example.com');
    expect(choice.html).toContain('Choose an organization');
    expect(choice.html).toMatch(/mill[\s\S]*Orchard Ltd/);
    const strange = await browser.submit(choice, { organization: 'org_0000000000000000' });
    expect(strange.html).toContain('Choose an organization');
    const done = await browser.submit(strange, { organization: mill });
    expect(await claimsOf(done.location, code_verifier)).toMatchObject({ org_id: mill });
    await auth0.organizations.members.create(mill, { members: ['auth0|bob'] });
    const one = new Browser(gate);
    const his = await begin(one);
    const taken = await one.logIn(his.page, 'bob@example.com');
    expect(await claimsOf(taken.location, his.code_verifier)).toMatchObject({ org_id: mill });
    await auth0.organizations.members.delete(mill, { members: ['auth0|bob'] });
    const none = new Browser(gate);
    const refused = await none.logIn((await begin(none)).page, 'bob@example.com');
    expect(Object.fromEntries(refused.location!.searchParams)).toMatchObject({ error: 'access_denied' });
  });

  test('asks nothing with prompt=none, nor in a flow without pages', async () => {
    for (const value of ['pre_login_prompt', 'post_login_prompt']) {
      await behavior(value);
      const browser = new Browser(gate);
      const { page } = await begin(browser, { organization: 'orchard' });
      await browser.logIn(page, 'alice@example.com');
      const silent = (await begin(browser, { prompt: 'none' })).page;
      expect(silent.location?.searchParams.get('error')).toBe('interaction_required');
    }
    const device = await gate.post('oauth/device/code', { client_id: 'spa', scope: 'openid' });
    expect(device.status).toBeGreaterThanOrEqual(400);
  });

  test('offers to go on without an organization where the application allows it', async () => {
    const allow = (organization_require_behavior: string) =>
      ask('PATCH', 'clients/spa', { organization_usage: 'allow', organization_require_behavior });
    const without = 'Continue without an organization';
    await allow('pre_login_prompt');
    const browser = new Browser(gate);
    const first = await begin(browser);
    expect(first.page.html).toContain(without);
    const login = await browser.submit(first.page, { action: 'without' });
    const alone = await browser.logIn(login, 'alice@example.com');
    expect(await claimsOf(alone.location, first.code_verifier)).not.toHaveProperty('org_id');
    // Nobody who cannot be asked is held up.
    const silent = await begin(browser, { prompt: 'none' });
    expect(await claimsOf(silent.page.location, silent.code_verifier)).not.toHaveProperty('org_id');
    const second = await begin(browser);
    const named = await browser.submit(second.page, { organization: 'mill' });
    expect(await claimsOf(named.location, second.code_verifier)).toMatchObject({ org_id: mill });

    await allow('post_login_prompt');
    const third = await begin(browser);
    expect(third.page.html).toContain(without);
    const chosen = await browser.submit(third.page, { organization: mill });
    expect(await claimsOf(chosen.location, third.code_verifier)).toMatchObject({ org_id: mill });
    const fourth = await begin(browser);
    const left = await browser.submit(fourth.page, { action: 'without' });
    expect(await claimsOf(left.location, fourth.code_verifier)).not.toHaveProperty('org_id');
    // Whoever is in none is not asked.
    const none = new Browser(gate);
    const his = await begin(none);
    const done = await none.logIn(his.page, 'bob@example.com');
    expect(await claimsOf(done.location, his.code_verifier)).not.toHaveProperty('org_id');
    // Where one is required, no form goes on without.
    await behavior('post_login_prompt');
    const held = await begin(browser);
    expect(held.page.html).not.toContain(without);
    expect((await browser.submit(held.page, { action: 'without' })).html).toContain('Choose an organization');
  });

  test('does not accept a form of one organization step at the other step', async () => {
    await behavior('pre_login_prompt');
    const browser = new Browser(gate);
    const { page } = await begin(browser);
    const uid = /\/interaction\/([\w-]+)/.exec(page.html)![1]!;
    for (const step of ['identifier', 'password', 'signup', 'mfa', 'consent'])
      expect((await browser.get(`${gate.issuer}interaction/${uid}/${step}`)).html).toContain('Which organization');
  });
});

test('the pages show the organization’s logo and colours, or the tenant’s where it has none', async () => {
  await ask('PATCH', 'branding', { logo_url: 'https://cdn.example/tenant.png', colors: { primary: '#112233' } });
  await ask('PATCH', `organizations/${orchard}`, {
    branding: {
      logo_url: 'https://cdn.example/orchard.png',
      colors: { primary: '#aa5500', page_background: '#ffffff' },
    },
  });
  const pageOf = async (more: Form) => {
    const page = await new Browser(gate).authorize({
      client_id: 'spa',
      redirect_uri,
      response_type: 'code',
      ...pkce(),
      ...more,
    });
    return page.html;
  };
  expect(await pageOf({ organization: 'orchard' })).toMatch(/--accent:#aa5500[\s\S]*orchard\.png/);
  expect(await pageOf({ organization: 'mill' })).toMatch(/--accent:#112233[\s\S]*tenant\.png/);
  expect(await pageOf({})).toMatch(/--accent:#112233[\s\S]*tenant\.png/);
  // The tenant's own template reads which one it is.
  const template =
    '<html><head>{%- auth0:head -%}</head><body>{% if organization %}<p>{{ organization.display_name }}, {{ organization.name }}, {{ organization.branding.colors.primary }}</p>{% else %}<p>none</p>{% endif %}{%- auth0:widget -%}</body></html>';
  expect((await ask('PUT', 'branding/templates/universal-login', { template })).status).toBe(201);
  expect(await pageOf({ organization: 'orchard' })).toContain('<p>Orchard Ltd, orchard, #aa5500</p>');
  expect(await pageOf({})).toContain('<p>none</p>');
  await ask('DELETE', 'branding/templates/universal-login');
});

test('people of connections that an organization does not name are refused, and a connection may make everybody a member', async () => {
  const { id = '' } = await auth0.organizations.create({
    name: 'guild',
    enabled_connections: [{ connection_id: 'con_email' }],
  });
  await auth0.organizations.members.create(id, { members: ['auth0|alice'] });
  const page = await new Browser(gate).authorize({
    client_id: 'spa',
    redirect_uri,
    response_type: 'code',
    organization: id,
    ...pkce(),
  });
  expect(page.html).not.toContain('name="password"');
  const database = 'con_Username-Password-Authentication';
  await auth0.organizations.enabledConnections.add(id, { connection_id: database, assign_membership_on_login: true });
  expect((await signIn({ organization: id }, new Browser(gate), 'carol@example.com')).access).toMatchObject({
    org_id: id,
  });
  expect((await ask('GET', `organizations/${id}/members`)).body.map(({ user_id }: Form) => user_id)).toEqual([
    'auth0|alice',
    'auth0|carol',
  ]);
  await auth0.organizations.delete(id);
});

test('an organization’s pages have buttons for the providers that it shows, whatever they are elsewhere', async () => {
  const options = { client_id: 'ours', client_secret: 'secret', discovery_url: 'https://login.example.com' };
  const make = async (name: string, more: object) => {
    const body = { name, strategy: 'oidc', enabled_clients: ['spa'], options: { ...options, ...more } };
    return (await ask('POST', 'connections', body)).body.id as string;
  };
  const made = [await make('button', {}), await make('domain', { domain_aliases: ['login.example.com'] })];
  const { id = '' } = await auth0.organizations.create({
    name: 'shown',
    enabled_connections: [
      { connection_id: 'con_Username-Password-Authentication' },
      { connection_id: made[0]!, show_as_button: false },
      { connection_id: made[1]!, show_as_button: true },
    ],
  });
  const buttons = async (given: Form = {}) => {
    const asked = { client_id: 'spa', redirect_uri, response_type: 'code', ...given, ...pkce() };
    const { html } = await new Browser(gate).authorize(asked);
    return [...html.matchAll(/\/connection\/([\w-]+)"/g)].map(([, name]) => name);
  };
  expect(await buttons()).toEqual(['button']);
  expect(await buttons({ organization: id })).toEqual(['domain']);
  await auth0.organizations.delete(id);
  for (const each of made) await auth0.connections.delete(each);
});

test('an organization whose only connection is deleted admits nobody until it names another', async () => {
  const { id: connection = '' } = await auth0.connections.create({ name: 'Partner', strategy: 'auth0' });
  const { id = '' } = await auth0.organizations.create({
    name: 'partners',
    enabled_connections: [{ connection_id: connection }],
  });
  await auth0.organizations.members.create(id, { members: ['auth0|alice'] });
  const browser = new Browser(gate);
  await signIn({}, browser);
  const silent = async () => (await authorize({ organization: id, prompt: 'none' }, browser)).answer;
  expect(await silent()).toMatchObject({ error: 'login_required' });
  await auth0.connections.delete(connection);
  expect(await silent()).toMatchObject({ error: 'login_required' });
  const database = 'con_Username-Password-Authentication';
  await auth0.organizations.enabledConnections.add(id, { connection_id: database });
  expect(await silent()).toMatchObject({ code: expect.any(String) });
  // Whoever removes the connection from the organization says that it is for people of all.
  await auth0.organizations.enabledConnections.delete(id, database);
  expect(await silent()).toMatchObject({ code: expect.any(String) });
  await auth0.organizations.delete(id);
});

test('whoever forgot the password of an organization’s own database is mailed a link, and another for a used one', async () => {
  const works = { name: 'Works', strategy: 'auth0' as const, enabled_clients: ['spa'] };
  const { id: connection_id = '' } = await auth0.connections.create(works);
  const { id = '' } = await auth0.organizations.create({ name: 'works', enabled_connections: [{ connection_id }] });
  const password = 'four unrelated words here';
  await auth0.users.create({ connection: 'Works', email: 'dave@example.com', password });
  const linksTo = async (email: string) =>
    (await gate.mails(email)).filter(({ text }) => text?.includes('change-password?ticket=')).map(linkIn);
  const nextLink = (seen: number) => until('a link', async () => (await linksTo('dave@example.com'))[seen]);
  // Carol's account is in the first database, which this organization does not take. The page says the same to everybody.
  for (const email of ['carol@example.com', 'nobody@example.com', 'dave@example.com']) {
    const browser = new Browser(gate);
    const request = { client_id: 'spa', redirect_uri, response_type: 'code', organization: id, ...pkce() };
    const { pathname } = new URL((await browser.authorize(request)).url);
    const sent = await browser.submit(await browser.get(`${pathname}/forgot-password`), { email });
    expect([sent.status, sent.html.includes(`If there is an account for <bdi>${email}</bdi>`)]).toEqual([200, true]);
  }
  const browser = new Browser(gate);
  const link = (await nextLink(0))!;
  expect((await browser.submit(await browser.get(link), { password })).html).toContain('Password changed');
  await browser.submit(await browser.get(link));
  expect((await browser.get((await nextLink(1))!)).html).toContain('Choose a new password');
  expect(await linksTo('carol@example.com')).toEqual([]);
});
