/**
 * What each operation does and answers, for `/openapi.json` and `/docs`: a line for each route (a test compares), with an example of its body
 * where it takes one. What Auth0 has and Gatepost does not is described by absent.ts itself.
 */
import { free, openResource, resource } from './resource.ts';

export type Answers = Record<number, { description: string; schema?: object }>;
export type Description = [summary: string, answers: Answers, body?: unknown];

const time = '2026-11-22T10:30:00.000Z';
const later = '2026-12-22T10:30:00.000Z';
const identity = {
  connection: 'Username-Password-Authentication',
  provider: 'auth0',
  user_id: 'alice',
  isSocial: false,
};

/** By name: an example, and the schema that is made of it. */
export const resources = {
  Client: openResource({
    client_id: 'x1rVGNYP9Y6LcDjwsGtGcBz3R1nYXf7c',
    client_secret: 'shown-to-whoever-made-it',
    name: 'My application',
    description: '',
    tenant: 'localhost',
    app_type: 'regular_web',
    global: false,
    is_first_party: true,
    callbacks: ['http://localhost:3000/callback'],
    allowed_logout_urls: ['http://localhost:3000'],
    web_origins: ['http://localhost:3000'],
    allowed_origins: ['http://localhost:3000'],
    allowed_clients: ['another-client'],
    grant_types: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_method: 'client_secret_post',
    client_metadata: free({ team: 'blue' }),
    jwt_configuration: free({ alg: 'RS256', lifetime_in_seconds: 36000, secret_encoded: false }),
    refresh_token: free({ rotation_type: 'rotating', expiration_type: 'expiring', leeway: 0 }),
    oidc_conformant: true,
    sso_disabled: false,
    cross_origin_authentication: false,
    custom_login_page_on: true,
    require_pushed_authorization_requests: false,
    require_proof_of_possession: false,
    is_token_endpoint_ip_header_trusted: false,
    created_at: time,
    updated_at: time,
  }),
  Credential: resource({
    id: 'cred_01jd9w',
    name: 'build server',
    credential_type: 'public_key',
    kid: 'hV2pTq',
    alg: 'RS256',
    expires_at: later,
    created_at: time,
    updated_at: time,
  }),
  ClientGrant: openResource({
    id: 'cgr_1a2b3c',
    client_id: 'demo-m2m',
    audience: 'http://localhost:4500/',
    scope: ['repo', 'admin:repo_hook'],
    subject_type: 'client',
  }),
  ResourceServer: openResource({
    id: 'b6c9f1',
    identifier: 'http://localhost:4500/',
    name: 'Webhook API',
    is_system: false,
    scopes: [{ value: 'repo', description: 'Repositories and their hooks' }],
    signing_alg: 'RS256',
    token_lifetime: 86400,
    token_lifetime_for_web: 7200,
    token_dialect: 'access_token',
    allow_offline_access: true,
    skip_consent_for_verifiable_first_party_clients: true,
  }),
  Identity: openResource(identity),
  User: resource({
    user_id: 'auth0|alice',
    email: 'alice@example.com',
    email_verified: true,
    username: 'alice',
    phone_number: '+15555550100',
    phone_verified: true,
    name: 'Alice Example',
    nickname: 'alice',
    given_name: 'Alice',
    family_name: 'Example',
    picture: 'https://example.com/alice.png',
    blocked: false,
    identities: [free(identity)],
    user_metadata: free({ colour: 'green' }),
    app_metadata: free({ plan: 'basic' }),
    logins_count: 3,
    last_login: time,
    last_ip: '192.0.2.7',
    last_password_reset: time,
    created_at: time,
    updated_at: time,
  }),
  UserBlocks: openResource({
    blocked_for: [{ identifier: 'alice@example.com', ip: '192.0.2.0/24', connection: identity.connection }],
  }),
  Session: openResource({
    id: 'lHmJ6Yk2',
    user_id: 'auth0|alice',
    created_at: time,
    updated_at: time,
    authenticated_at: time,
    idle_expires_at: later,
    expires_at: later,
    last_interacted_at: time,
    clients: [{ client_id: 'demo-web' }],
    authentication: free({ methods: [{ name: 'pwd', timestamp: time }] }),
    cookie: { mode: 'persistent' },
    session_metadata: null,
  }),
  RefreshToken: openResource({
    id: '9f86d081884c7d65',
    user_id: 'auth0|alice',
    client_id: 'demo-web',
    session_id: 'lHmJ6Yk2',
    rotating: true,
    resource_servers: [{ audience: 'http://localhost:4500/', scopes: 'repo offline_access' }],
    created_at: time,
    idle_expires_at: later,
    expires_at: later,
    last_exchanged_at: null,
  }),
  DailyStatistics: resource({
    date: time,
    logins: 42,
    signups: 3,
    leaked_passwords: 0,
    created_at: time,
    updated_at: time,
  }),
  Connection: openResource({
    id: 'con_7d2b1c',
    name: identity.connection,
    strategy: 'auth0',
    display_name: 'People of Acme',
    realms: [identity.connection],
    is_domain_connection: false,
    options: free({ disable_self_service_change_password: false }),
    enabled_clients: ['demo-web'],
    metadata: free({ team: 'blue' }),
  }),
  ClientOfConnection: resource({ client_id: 'demo-web' }),
  DeviceCredential: resource({
    id: '9f86d081884c7d65',
    type: 'refresh_token',
    device_name: 'Television',
    user_id: 'auth0|alice',
    client_id: 'demo-device',
  }),
  Grant: resource({
    id: 'Vd1T3x',
    clientID: 'demo-web',
    user_id: 'auth0|alice',
    audience: 'http://localhost:4500/',
    scope: ['repo'],
  }),
  Log: openResource({
    _id: '90020261122103000000001',
    log_id: '90020261122103000000001',
    date: time,
    type: 's',
    description: 'Success Login',
    client_id: 'demo-web',
    user_id: 'auth0|alice',
    ip: '192.0.2.7',
    details: free({}),
  }),
  Branding: resource({
    logo_url: 'https://example.com/logo.png',
    favicon_url: 'https://example.com/favicon.ico',
    colors: free({ primary: '#0059d6', page_background: '#ffffff' }),
    font: free({ url: 'https://example.com/font.woff2' }),
  }),
  Template: resource({ body: '<html><head>{%- auth0:head -%}</head><body>{%- auth0:widget -%}</body></html>' }),
  Ticket: resource({
    ticket: 'http://localhost:4400/email-verification?ticket=wV0dOZcaXl7pZbYcQX8o0T2Jk6a9mHqf1E3uRr5sN4g',
  }),
  Job: resource({ id: 'job_0Lq7yRk2bXcVnM1a', type: 'verification_email', status: 'pending', created_at: time }),
  EmailTemplate: openResource(
    {
      template: 'reset_email',
      body: '<a href="{{ url }}">Choose a new password</a>',
      from: 'Acme <help@example.com>',
      resultUrl: 'https://example.com/done',
      subject: 'A new password for {{ application.name }}',
      syntax: 'liquid',
      urlLifetimeInSeconds: 3600,
      includeEmailInRedirect: true,
      enabled: true,
    },
    ['body', 'from', 'resultUrl', 'subject', 'urlLifetimeInSeconds', 'enabled'],
  ),
  Prompts: resource({
    universal_login_experience: 'new',
    identifier_first: false,
    webauthn_platform_first_factor: false,
  }),
  TenantSettings: openResource({
    friendly_name: 'Acme',
    picture_url: 'https://example.com/logo.png',
    support_email: 'help@example.com',
    support_url: 'https://example.com/help',
    default_audience: '',
    identifier_first: false,
    allow_signup: true,
    oidc_conformant_claims: false,
    default_id_token_alg: 'RS256',
    enabled_locales: ['en', 'de'],
    flags: free({}),
  }),
  SigningKey: openResource({
    kid: 'hV2pTq',
    alg: 'RS256',
    cert: '-----BEGIN CERTIFICATE-----…',
    fingerprint: '3A:5F:…',
    thumbprint: '3A5F…',
    current: true,
    next: false,
    previous: false,
    current_since: time,
    revoked: false,
  }),
  RegistrationToken: resource({ token: 'gL5mBfJq…' }),
};

type Name = keyof typeof resources;
const refTo = (name: Name) => ({ $ref: `#/components/schemas/${name}` });
const one = (name: Name, status = 200): Answers => ({ [status]: { description: 'It', schema: refTo(name) } });
const none = (status = 204, description = 'Done'): Answers => ({ [status]: { description } });
const array = (schema: object) => ({ type: 'array', items: schema });
const all = (name: Name): Answers => ({ 200: { description: 'All of them', schema: array(refTo(name)) } });

/** As a bare array; with totals, if `include_totals` asks for them; or with a checkpoint, if `take` or `from` does (paging.ts). */
function list(key: string, name?: Name): Answers {
  const items = array(name ? refTo(name) : {});
  const total = { type: 'integer', example: name ? 1 : 0 };
  const counts = {
    start: { type: 'integer', example: 0 },
    limit: { type: 'integer', example: 50 },
    length: total,
    total,
  };
  const schema = {
    anyOf: [
      items,
      { type: 'object', properties: { ...counts, [key]: items, next: { type: 'string' } }, required: [key] },
    ],
  };
  return { 200: { description: 'A page of them', schema } };
}

const words = { login: { title: 'Welcome to Acme' } };
const customText: Answers = {
  200: { description: 'Words by screen and name', schema: { type: 'object', example: words } },
};
const callback = 'http://localhost:3000/callback';

// biome-ignore format: a table
export const descriptions: Record<string, Description> = {
  'get /clients': ['List applications', list('clients', 'Client')],
  'post /clients': ['Create an application', one('Client', 201), { name: 'My application', app_type: 'regular_web', callbacks: [callback] }],
  'get /clients/:id': ['Get an application', one('Client')],
  'patch /clients/:id': ['Change an application', one('Client'), { callbacks: [callback] }],
  'delete /clients/:id': ['Delete an application', none()],
  'get /clients/:id/connections': ['List the connections that an application may use', list('connections', 'Connection')],
  'get /clients/:id/credentials': ['List the keys of an application', all('Credential')],
  'post /clients/:id/credentials': ['Add a key to an application', one('Credential', 201), { credential_type: 'public_key', name: 'build server', pem: '-----BEGIN PUBLIC KEY-----…', alg: 'RS256' }],
  'get /clients/:id/credentials/:credential_id': ['Get a key of an application', one('Credential')],
  'patch /clients/:id/credentials/:credential_id': ['Change when a key of an application ends', one('Credential'), { expires_at: later }],
  'delete /clients/:id/credentials/:credential_id': ['Delete a key of an application', none()],
  'post /clients/:id/rotate-secret': ['Replace the secret of an application', one('Client')],

  'get /client-grants': ['List which applications may use which APIs', list('client_grants', 'ClientGrant')],
  'post /client-grants': ['Let an application use an API', one('ClientGrant', 201), { client_id: 'demo-m2m', audience: 'http://localhost:4500/', scope: ['repo'] }],
  'get /client-grants/:id': ['Get what an application may do at an API', one('ClientGrant')],
  'patch /client-grants/:id': ['Change what an application may do at an API', one('ClientGrant'), { scope: ['repo', 'admin:repo_hook'] }],
  'delete /client-grants/:id': ['Take an API from an application', none()],

  'get /resource-servers': ['List APIs', list('resource_servers', 'ResourceServer')],
  'post /resource-servers': ['Create an API', one('ResourceServer', 201), { identifier: 'https://api.example.com/', name: 'My API', scopes: [{ value: 'read:things', description: 'Read things' }] }],
  'get /resource-servers/:id': ['Get an API', one('ResourceServer')],
  'patch /resource-servers/:id': ['Change an API', one('ResourceServer'), { token_lifetime: 3600 }],
  'delete /resource-servers/:id': ['Delete an API', none()],

  'get /users': ['List or search people', list('users', 'User')],
  'post /users': ['Create a person', one('User', 201), { connection: identity.connection, email: 'alice@example.com', password: 'correct horse battery' }],
  'get /users/:id': ['Get a person', one('User')],
  'patch /users/:id': ['Change a person', one('User'), { blocked: true }],
  'delete /users/:id': ['Delete a person', none()],
  'get /users/:id/logs': ['List what a person did', list('logs', 'Log')],
  'post /users/:id/revoke-access': ['Sign a person out everywhere', none(202, 'Accepted')],
  'post /users/:id/identities': ['Link an account to a person', { 201: { description: 'The identities of the person', schema: array(refTo('Identity')) } }, { provider: 'auth0', user_id: 'auth0|bob' }],
  'delete /users/:id/identities/:provider/:user_id': ['Unlink an account from a person', all('Identity')],
  'get /users/:id/sessions': ['List where a person is signed in', list('sessions', 'Session')],
  'delete /users/:id/sessions': ['Sign a person out in every browser', none(202, 'Accepted')],
  'get /users/:id/refresh-tokens': ['List the refresh tokens of a person', list('tokens', 'RefreshToken')],
  'delete /users/:id/refresh-tokens': ['End the refresh tokens of a person', none(202, 'Accepted')],
  'get /users/:id/roles': ['List the roles of a person: there are none', list('roles')],
  'get /users/:id/permissions': ['List the permissions of a person: there are none', list('permissions')],
  'get /users/:id/organizations': ['List the organizations of a person: there are none', list('organizations')],
  'get /users/:id/authentication-methods': ['List the further factors of a person: there are none', list('authenticators')],
  'delete /users/:id/authenticators': ['Delete the further factors of a person: there are none', none()],
  'get /users/:id/enrollments': ['List the enrolled devices of a person: there are none', { 200: { description: 'An empty list', schema: { type: 'array', items: {} } } }],
  'get /users-by-email': ['Find people by their address', all('User')],

  'get /user-blocks': ['List from where an address, number or name is locked out', one('UserBlocks')],
  'delete /user-blocks': ['Let an address, number or name log in again', none()],
  'get /user-blocks/:id': ['List from where a person is locked out', one('UserBlocks')],
  'delete /user-blocks/:id': ['Let a person log in again', none()],

  'get /sessions/:id': ['Get a session', one('Session')],
  'delete /sessions/:id': ['End a session', none(202, 'Accepted')],
  'post /sessions/:id/revoke': ['End a session and its refresh tokens', none(202, 'Accepted')],

  'get /refresh-tokens': ['List refresh tokens', list('refresh_tokens', 'RefreshToken')],
  'post /refresh-tokens/revoke': ['End several refresh tokens', none(), { user_id: 'auth0|alice' }],
  'get /refresh-tokens/:id': ['Get a refresh token', one('RefreshToken')],
  'delete /refresh-tokens/:id': ['End a refresh token', none(202, 'Accepted')],

  'get /stats/active-users': ['Count who was active in the last 30 days', { 200: { description: 'A number', schema: { type: 'integer', example: 42 } } }],
  'get /stats/daily': ['Count logins and sign-ups by day', all('DailyStatistics')],

  'get /connections': ['List connections', list('connections', 'Connection')],
  'post /connections': ['Create a connection', one('Connection', 201), { name: 'customers', strategy: 'auth0' }],
  'get /connections/:id': ['Get a connection', one('Connection')],
  'patch /connections/:id': ['Change a connection', one('Connection'), { enabled_clients: ['demo-web'] }],
  'get /connections/:id/clients': ['List the applications that may use a connection', list('clients', 'ClientOfConnection')],
  'patch /connections/:id/clients': ['Let applications use a connection, or not', none(), [{ client_id: 'demo-web', status: true }]],
  'delete /connections/:id': ['Delete a connection and its accounts', none()],

  'get /device-credentials': ['List the refresh tokens of devices', list('device_credentials', 'DeviceCredential')],
  'delete /device-credentials/:id': ['End a refresh token of a device', none()],

  'get /grants': ['List what people allowed applications', list('grants', 'Grant')],
  'delete /grants': ['End all that a person allowed', none()],
  'delete /grants/:id': ['End what a person allowed an application', none()],

  'get /logs': ['Search the log', list('logs', 'Log')],
  'get /logs/:id': ['Get an entry of the log', one('Log')],

  'get /branding': ['Get the logo, favicon and colours of the pages', one('Branding')],
  'patch /branding': ['Change the logo, favicon and colours of the pages', one('Branding'), { colors: { primary: '#0059d6' } }],
  'get /branding/templates/universal-login': ['Get the template of the pages', one('Template')],
  'put /branding/templates/universal-login': ['Set the template of the pages', { ...none(201, 'It is the first one'), ...none(204, 'It replaces another') }, { template: '<html><head>{%- auth0:head -%}</head><body>{%- auth0:widget -%}</body></html>' }],
  'delete /branding/templates/universal-login': ['Bring our own pages back', none()],

  'post /tickets/email-verification': ['Make a link that confirms an address', one('Ticket', 201), { user_id: 'auth0|alice', result_url: 'http://localhost:3000/confirmed' }],
  'post /tickets/password-change': ['Make a link that sets a new password', one('Ticket', 201), { user_id: 'auth0|alice', result_url: 'http://localhost:3000/login' }],
  'post /jobs/verification-email': ['Send a verification mail', { ...one('Job', 201), 429: { description: 'Too many mails to this address', schema: { $ref: '#/components/schemas/ManagementError' } } }, { user_id: 'auth0|alice' }],
  'get /jobs/:id': ['Get what has become of a mail', one('Job')],

  'post /email-templates': ['Write a mail in your own words', one('EmailTemplate'), { template: 'reset_email', subject: 'A new password', body: '<a href="{{ url }}">Choose one</a>', syntax: 'liquid', enabled: true }],
  'get /email-templates/:id': ['Get the words of a mail', one('EmailTemplate')],
  'put /email-templates/:id': ['Replace the words of a mail', one('EmailTemplate'), { template: 'reset_email', subject: 'A new password', body: '<a href="{{ url }}">Choose one</a>', syntax: 'liquid', enabled: true }],
  'patch /email-templates/:id': ['Change the words of a mail', one('EmailTemplate'), { subject: 'A new password' }],

  'get /prompts': ['Get how people log in', one('Prompts')],
  'patch /prompts': ['Change how people log in', one('Prompts'), { identifier_first: true }],
  'get /prompts/:prompt/custom-text/:language': ['Get your own words on a page', customText],
  'put /prompts/:prompt/custom-text/:language': ['Set your own words on a page', customText, words],

  'get /tenants/settings': ['Get the settings', one('TenantSettings')],
  'patch /tenants/settings': ['Change the settings', one('TenantSettings'), { friendly_name: 'Acme', support_email: 'help@example.com' }],

  'get /keys/signing': ['List the signing keys', all('SigningKey')],
  'post /keys/signing/rotate': ['Make new signing keys', one('SigningKey', 201)],
  'get /keys/signing/:kid': ['Get a signing key', one('SigningKey')],
  'put /keys/signing/:kid/revoke': ['Revoke a signing key', one('SigningKey')],

  'post /keys/encryption/rekey': ['Seal what is stored under the present SECRETS_KEY', none()],

  'post /registration-tokens': ['Make a token to register an application with', one('RegistrationToken', 201), { ttl_sec: 3600 }],
};
