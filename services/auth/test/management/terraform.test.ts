/**
 * The Terraform provider (auth0/terraform-provider-auth0): the requests that its own acceptance tests of clients, APIs, grants,
 * connections, users, the tenant, branding and prompts make (test/data/recordings of its repository, `TestAccClient` and so on), one after the other.
 * What it reads after it wrote must be what it wrote: that is what makes the next plan empty.
 */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: Auth0 writes values so.
import { afterAll, expect, test } from '@jest/globals';
import { openManagement } from './target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const { ask, tokenOf } = stack.use(await openManagement());
const token = `Bearer ${await tokenOf('manager')}`;

/** Sends it, and reads it back. go-auth0 sends no body where it only reads. */
async function apply(method: 'POST' | 'PATCH' | 'PUT', path: string, body: object, idName = 'id') {
  const written = await ask(method, path, body, token);
  expect([path, written.status, written.status < 300 || written.body]).toEqual([path, written.status, true]);
  const id = written.body[idName] as string | undefined;
  const address = method === 'POST' ? `${path}/${encodeURIComponent(id!)}` : path;
  const read = await ask('GET', address, undefined, token);
  expect(read.status).toBe(200);
  return { address, read: read.body };
}

async function destroy(address: string) {
  expect((await ask('DELETE', address, undefined, token)).status).toBeLessThan(300);
  expect((await ask('GET', address, undefined, token)).status).toBe(404);
}

test('Terraform applies an application, reads it, changes it, reads it again and destroys it', async () => {
  const { address } = await apply('POST', 'clients', { name: 'Acceptance Test - TestAccClient' }, 'client_id');
  const { oidc_backchannel_logout, ...change } = {
    name: 'Acceptance Test - TestAccClient',
    description: 'Test Application Long Description',
    app_type: 'non_interactive',
    logo_uri: 'https://example.com/logoUri',
    is_first_party: true,
    is_token_endpoint_ip_header_trusted: true,
    oidc_conformant: true,
    callbacks: ['https://example.com/callback'],
    allowed_origins: ['https://example.com'],
    web_origins: ['https://example.com'],
    client_aliases: ['https://example.com/audience'],
    allowed_clients: ['https://allowed.example.com'],
    allowed_logout_urls: ['https://example.com'],
    sso: false,
    sso_disabled: false,
    grant_types: [
      'authorization_code',
      'http://auth0.com/oauth/grant-type/password-realm',
      'implicit',
      'password',
      'refresh_token',
    ],
    cross_origin_loc: 'https://example.com/cross-origin-loc',
    custom_login_page_on: true,
    custom_login_page: 'test',
    form_template: 'test',
    token_endpoint_auth_method: 'client_secret_post',
    client_metadata: { foo: 'zoo' },
    initiate_login_uri: 'https://example.com/login',
    organization_usage: 'deny',
    organization_require_behavior: 'no_prompt',
    oidc_backchannel_logout: { backchannel_logout_urls: ['https://example.com/oidc-logout'] },
  };
  const { read } = await apply('PATCH', address, { ...change, oidc_backchannel_logout });
  expect(read).toMatchObject({ ...change, oidc_logout: oidc_backchannel_logout });
  const zero = { name: 'Zero', description: '', is_first_party: false, custom_login_page: '', oidc_conformant: false };
  expect((await apply('PATCH', address, zero)).read).toMatchObject({ ...change, ...zero });
  await destroy(address);
});

test('Terraform applies an API, reads it, changes it, reads it again and destroys it', async () => {
  const identifier = 'https://uat.api.terraform-provider-auth0.com/TestAccResourceServer';
  const { address } = await apply('POST', 'resource-servers', { identifier });
  const change = {
    name: 'Acceptance Test - TestAccResourceServer',
    signing_alg: 'RS256',
    allow_offline_access: true,
    token_lifetime: 7200,
    token_lifetime_for_web: 3600,
    skip_consent_for_verifiable_first_party_clients: true,
    enforce_policies: true,
  };
  expect((await apply('PATCH', address, change)).read).toMatchObject(change);
  const without = { ...change, allow_offline_access: false };
  expect((await apply('PATCH', address, without)).read).toMatchObject(without);
  const scopes = { scopes: [{ value: 'create:foo', description: 'Create foos' }] };
  expect((await apply('PATCH', address, scopes)).read).toMatchObject({ ...without, ...scopes });
  await destroy(address);
});

test('Terraform applies a client grant, reads it, changes it, reads it again and destroys it', async () => {
  const grant = { client_id: 'web', audience: 'https://api.example.com/', scope: [] };
  const { address, read } = await apply('POST', 'client-grants', grant);
  expect(read).toMatchObject(grant);
  for (const scope of [['read:x'], []])
    expect((await apply('PATCH', address, { scope })).read).toMatchObject({ ...grant, scope });
  await destroy(address);
});

test('Terraform applies a connection and its applications, reads them, changes them, reads them again and destroys them', async () => {
  const connection = {
    name: 'Acceptance-Test-Connection-TestAccConnection',
    strategy: 'auth0',
    is_domain_connection: true,
    metadata: { key1: 'foo', key2: 'bar' },
    options: {
      mfa: { active: true, return_enroll_settings: true },
      validation: { username: { max: 40, min: 10 } },
      passwordPolicy: 'fair',
      password_history: { enable: true, size: 5 },
      password_no_personal_info: { enable: true },
      password_dictionary: { dictionary: ['1234', 'admin', 'password'], enable: true },
      password_complexity_options: { min_length: 6 },
      enabledDatabaseCustomization: false,
      brute_force_protection: true,
      import_mode: false,
      disable_signup: false,
      requires_username: true,
      customScripts: { get_user: 'myFunction' },
      configuration: { foo: 'bar' },
      non_persistent_attrs: ['gender', 'hair_color'],
      upstream_params: { screen_name: { alias: 'login_hint' } },
    },
  };
  const { address, read } = await apply('POST', 'connections', connection);
  expect(read).toMatchObject(connection);
  const change = {
    is_domain_connection: true,
    metadata: { key1: 'foo', key2: 'bar' },
    options: { mfa: { active: true, return_enroll_settings: false }, passwordPolicy: 'fair', non_persistent_attrs: [] },
  };
  const { read: changed } = await apply('PATCH', address, change);
  expect(changed).toMatchObject(change);
  expect(changed.options).not.toHaveProperty('validation');
  const chosen = `${address}?fields=enabled_clients%2Cstrategy%2Cname&include_fields=true`;
  for (const enabled_clients of [[], ['spa', 'web'], []]) {
    await apply('PATCH', address, { enabled_clients });
    expect((await ask('GET', chosen, undefined, token)).body).toEqual({
      name: connection.name,
      strategy: 'auth0',
      enabled_clients,
    });
  }
  await destroy(address);
});

test('Terraform applies a user, reads it, changes it, reads it again and destroys it', async () => {
  const { password, user_id, ...user } = {
    user_id: 'testaccuser',
    connection: 'Username-Password-Authentication',
    email: 'testaccuser@acceptance.test.com',
    name: 'Firstname Lastname',
    given_name: 'Firstname',
    family_name: 'Lastname',
    username: 'testaccuser',
    nickname: 'testaccuser',
    password: 'passpass$12$12',
    picture: 'https://www.example.com/picture.jpg',
  };
  const { connection, ...shown } = user;
  const { address, read } = await apply('POST', 'users', { ...user, user_id, password }, 'user_id');
  expect(read).toMatchObject({ ...shown, user_id: 'auth0|testaccuser', identities: [{ connection }] });
  const roles = `${address}/roles?include_totals=true&per_page=50`;
  expect((await ask('GET', roles, undefined, token)).body).toMatchObject({ roles: [], start: 0, limit: 50, total: 0 });
  const { email: _email, username: _username, ...rest } = user;
  const change = {
    ...rest,
    user_metadata: { baz: 'qux', foo: 'bar' },
    app_metadata: { baz: 'qux', foo: 'bar' },
    blocked: false,
  };
  const { connection: _connection, ...expected } = change;
  expect((await apply('PATCH', address, change)).read).toMatchObject(expected);
  await destroy(address);
});

test('Terraform applies the tenant’s settings and reads them', async () => {
  const settings = 'tenants/settings';
  const first = { session_lifetime: 168, idle_session_lifetime: 72 };
  expect((await apply('PATCH', settings, first)).read).toMatchObject(first);
  const change = {
    default_audience: '',
    default_directory: '',
    error_page: { html: '<html>Error Page</html>', show_log_link: false, url: 'https://mycompany.org/error' },
    flags: {
      universal_login: true,
      disable_clickjack_protection_headers: true,
      enable_public_signup_user_exists_error: true,
      use_scope_descriptions_for_consent: true,
      no_disclose_enterprise_connections: false,
      disable_management_api_sms_obfuscation: false,
      disable_fields_map_fix: false,
      mfa_show_factor_list_on_enrollment: false,
    },
    friendly_name: 'My Test Tenant',
    picture_url: 'https://mycompany.org/logo.png',
    support_email: 'support@mycompany.org',
    support_url: 'https://mycompany.org/support',
    universal_login: { colors: { primary: '#0059d6', page_background: '#000000' } },
    allowed_logout_urls: ['https://mycompany.org/logoutCallback'],
    session_lifetime: 720,
    sandbox_version: '16',
    default_redirection_uri: 'https://example.com/login',
    enabled_locales: ['en', 'de', 'fr'],
    session_cookie: { mode: 'non-persistent' },
  };
  expect((await apply('PATCH', settings, change)).read).toMatchObject(change);
});

test('Terraform applies branding, reads it, changes it, reads it again and removes it', async () => {
  const icon = { favicon_url: 'https://mycompany.org/favicon.ico' };
  const first = { logo_url: 'https://mycompany.org/v1/logo.png', ...icon };
  expect((await apply('PATCH', 'branding', first)).read).toEqual(first);
  const all = {
    logo_url: 'https://mycompany.org/v2/logo.png',
    ...icon,
    colors: { primary: '#0059d6', page_background: '#000000' },
    font: { url: 'https://mycompany.org/font/myfont.ttf' },
  };
  expect((await apply('PATCH', 'branding', all)).read).toEqual(all);
  const again = { ...all, logo_url: 'https://mycompany.org/v3/logo.png', colors: { primary: '#0059d6' } };
  expect((await apply('PATCH', 'branding', again)).read).toEqual({ ...again, colors: all.colors });
  expect((await apply('PATCH', 'branding', { ...first, colors: null, font: null })).read).toEqual(first);
  await apply('PATCH', 'branding', { logo_url: null, favicon_url: null });
});

// But for `alertListTitle`, which the pages do not have, and the classic experience.
test('Terraform applies prompts and custom texts, reads them, changes them, reads them again and removes them', async () => {
  const standing = { universal_login_experience: 'new', webauthn_platform_first_factor: false };
  for (const identifier_first of [false, true])
    expect((await apply('PATCH', 'prompts', { ...standing, identifier_first })).read).toEqual({
      ...standing,
      identifier_first,
    });
  const texts = 'prompts/login/custom-text/en';
  for (const body of [
    {},
    { login: { buttonText: 'Continue', emailPlaceholder: 'Email address', title: 'Welcome to ${companyName}' } },
    { login: { buttonText: 'Proceed', emailPlaceholder: 'Email Address', title: 'Welcome to ${companyName}' } },
    {},
  ])
    expect((await apply('PUT', texts, body)).read).toEqual(body);
});
