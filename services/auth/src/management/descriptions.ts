/**
 * What each operation does and answers, for `/openapi.json` and `/docs`: one line per route (a test compares), with an example of its body
 * if it has one. Features of Auth0 that Gatepost lacks are described by absent.ts.
 */
import { refTo } from '@gatepost/api-docs/json-schema';
import { identity, later, permissions, type resources } from './resource-examples.ts';

export type Answers = Record<number, { description: string; schema?: object }>;
export type Description = [summary: string, answers: Answers, body?: unknown];

type Name = keyof typeof resources;
const one = (name: Name, status = 200): Answers => ({ [status]: { description: 'The resource', schema: refTo(name) } });
const none = (status = 204, description = 'Done'): Answers => ({ [status]: { description } });
/** An empty object. */
const done = (status: number): Answers => ({
  [status]: { description: 'Done', schema: { type: 'object', additionalProperties: false } },
});
const array = (schema: object) => ({ type: 'array', items: schema });
const all = (name: Name): Answers => ({ 200: { description: 'All of them', schema: array(refTo(name)) } });

/** A page of a list that has no other form at Auth0. */
const paged = (key: string, name: Name): Answers => ({
  200: {
    description: 'A page',
    schema: {
      type: 'object',
      properties: {
        total: { type: 'integer', example: 1 },
        page: { type: 'integer', example: 0 },
        per_page: { type: 'integer', example: 50 },
        [key]: array(refTo(name)),
      },
    },
  },
});

/** As a bare array; with totals if `include_totals` asks for them; with a checkpoint if `take` or `from` does (paging.ts). */
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
  200: { description: 'Texts by screen and name', schema: { type: 'object', example: words } },
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
  'patch /clients/:id/credentials/:credential_id': ['Change when a key of an application expires', one('Credential'), { expires_at: later }],
  'delete /clients/:id/credentials/:credential_id': ['Delete a key of an application', none()],
  'post /clients/:id/rotate-secret': ['Replace the secret of an application', one('Client')],

  'get /client-grants': ['List which applications may use which APIs', list('client_grants', 'ClientGrant')],
  'post /client-grants': ['Let an application use an API', one('ClientGrant', 201), { client_id: 'demo-m2m', audience: 'http://localhost:4500/', scope: ['repo'] }],
  'get /client-grants/:id': ['Get what an application may do at an API', one('ClientGrant')],
  'patch /client-grants/:id': ['Change what an application may do at an API', one('ClientGrant'), { scope: ['repo', 'admin:repo_hook'] }],
  'delete /client-grants/:id': ['Stop an application from using an API', none()],

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
  'post /users/:id/revoke-access': ['Sign a person out everywhere, or of one session', none(202, 'Accepted'), { session_id: 'lHmJ6Yk2' }],
  'post /users/:id/identities': ['Link an account to a person', { 201: { description: 'The identities of the person', schema: array(refTo('Identity')) } }, { provider: 'auth0', user_id: 'auth0|bob' }],
  'delete /users/:id/identities/:provider/:user_id': ['Unlink an account from a person', all('Identity')],
  'get /users/:id/sessions': ['List where a person is signed in', list('sessions', 'Session')],
  'delete /users/:id/sessions': ['Sign a person out in every browser', none(202, 'Accepted')],
  'get /users/:id/refresh-tokens': ['List the refresh tokens of a person', list('tokens', 'RefreshToken')],
  'delete /users/:id/refresh-tokens': ['End the refresh tokens of a person', none(202, 'Accepted')],
  'get /users/:id/roles': ['List the roles that a person was given', list('roles', 'Role')],
  'post /users/:id/roles': ['Give a person roles', none(), { roles: ['rol_5a1f6c9e2b7d4038'] }],
  'delete /users/:id/roles': ['Remove roles from a person', none(), { roles: ['rol_5a1f6c9e2b7d4038'] }],
  'get /users/:id/permissions': ['List what a person may do, and through which roles', list('permissions', 'PermissionOfUser')],
  'post /users/:id/permissions': ['Give a person permissions besides those of their roles', done(201), permissions],
  'delete /users/:id/permissions': ['Remove permissions that a person was given', none(), permissions],
  'get /users/:id/organizations': ['List the organizations of a person', list('organizations', 'Organization')],
  'get /users/:id/authentication-methods': ['List how a person can authenticate, besides a password', list('authenticators', 'AuthenticationMethod')],
  'post /users/:id/authentication-methods': ['Add a second factor to a person', one('AuthenticationMethod', 201), { type: 'phone', name: 'Work', phone_number: '+15555550100' }],
  'put /users/:id/authentication-methods': ['Replace all second factors of a person', all('AuthenticationMethod'), [{ type: 'phone', name: 'Work', phone_number: '+15555550100' }]],
  'delete /users/:id/authentication-methods': ['Delete all second factors, passkeys and recovery codes of a person', none()],
  'get /users/:id/authentication-methods/:method_id': ['Get a second factor of a person', one('AuthenticationMethod')],
  'patch /users/:id/authentication-methods/:method_id': ['Rename a second factor of a person', one('AuthenticationMethod'), { name: 'Old phone' }],
  'delete /users/:id/authentication-methods/:method_id': ['Delete a second factor of a person', none()],
  'delete /users/:id/authenticators': ['Delete all second factors, passkeys and recovery codes of a person', none()],
  'post /users/:id/multifactor/actions/invalidate-remember-browser': ['Ask a person for the second factor in every browser again', none()],
  'delete /users/:id/multifactor/:provider': ["Delete a person's second factors of one provider", none()],
  'post /users/:id/recovery-code-regeneration': ['Create new recovery codes for a person', one('RecoveryCodes')],
  'get /users/:id/enrollments': ['List the second factors of a person, in an older form', all('Enrollment')],
  'get /users-by-email': ['Find people by their email address', all('User')],

  'get /roles': ['List roles', list('roles', 'Role')],
  'post /roles': ['Create a role', one('Role'), { name: 'Editor', description: 'Writes and changes notes' }],
  'get /roles/:id': ['Get a role', one('Role')],
  'patch /roles/:id': ['Change a role', one('Role'), { description: 'Writes notes' }],
  'delete /roles/:id': ['Delete a role; everybody who had it loses it', done(200)],
  'get /roles/:id/permissions': ['List what a role allows', list('permissions', 'Permission')],
  'post /roles/:id/permissions': ['Add permissions to a role', done(201), permissions],
  'delete /roles/:id/permissions': ['Remove permissions from a role', none(), permissions],
  'get /roles/:id/users': ['List who was given a role', list('users', 'UserOfRole')],
  'post /roles/:id/users': ['Give a role to people', done(200), { users: ['auth0|alice'] }],

  'get /actions/triggers': ['List where actions can run', one('ActionTriggers')],
  'get /actions/triggers/:trigger_id/bindings': ['List which actions run at a trigger, in order', paged('bindings', 'ActionBinding')],
  'patch /actions/triggers/:trigger_id/bindings': ['Set which actions run at a trigger, in order', one('ActionBindings'), { bindings: [{ ref: { type: 'action_name', value: 'Add the plan' }, display_name: 'Add the plan' }] }],
  'get /actions/actions': ['List actions', paged('actions', 'Action')],
  'post /actions/actions': ['Create an action: a draft, until it is deployed', one('Action', 201), { name: 'Add the plan', supported_triggers: [{ id: 'post-login', version: 'v3' }], code: 'exports.onExecutePostLogin = async (event, api) => {};', secrets: [{ name: 'API_KEY', value: 'shown to nobody again' }] }],
  'get /actions/actions/:id': ['Get an action', one('Action')],
  'patch /actions/actions/:id': ['Change the draft of an action', one('Action'), { code: 'exports.onExecutePostLogin = async (event, api) => {};' }],
  'delete /actions/actions/:id': ['Delete an action', none()],
  'post /actions/actions/:id/deploy': ['Deploy the draft of an action', one('ActionVersion', 202)],
  'post /actions/actions/:id/test': ['Run the draft of an action with an event of your own', one('ActionTest'), { payload: { event: { user: { user_id: 'auth0|alice' } } } }],
  'get /actions/actions/:id/versions': ['List the deployed versions of an action', paged('versions', 'ActionVersion')],
  'get /actions/actions/:id/versions/:version_id': ['Get a version of an action', one('ActionVersion')],
  'post /actions/actions/:id/versions/:version_id/deploy': ['Deploy an earlier version of an action again', one('ActionVersion', 202), { update_draft: false }],
  'get /actions/executions/:id': ['Get the outcome of a run that failed or refused somebody', one('ActionExecution')],

  'get /organizations': ['List organizations', list('organizations', 'Organization')],
  'post /organizations': ['Create an organization', one('Organization', 201), { name: 'orchard', display_name: 'Orchard Ltd' }],
  'get /organizations/name/:name': ['Get an organization by its name', one('Organization')],
  'get /organizations/:id': ['Get an organization', one('Organization')],
  'patch /organizations/:id': ['Change an organization', one('Organization'), { display_name: 'Orchard' }],
  'delete /organizations/:id': ['Delete an organization, and end what was granted for it', none()],
  'get /organizations/:id/enabled_connections': ['List the connections that people sign in to an organization with', list('enabled_connections', 'OrganizationConnection')],
  'post /organizations/:id/enabled_connections': ['Enable a connection for an organization', one('OrganizationConnection', 201), { connection_id: 'con_email', assign_membership_on_login: false }],
  'get /organizations/:id/enabled_connections/:connection_id': ['Get a connection of an organization', one('OrganizationConnection')],
  'patch /organizations/:id/enabled_connections/:connection_id': ['Change a connection of an organization', one('OrganizationConnection'), { assign_membership_on_login: true }],
  'delete /organizations/:id/enabled_connections/:connection_id': ['Disable a connection for an organization', none()],
  'get /organizations/:id/connections': ['List the connections that people sign in to an organization with', list('connections', 'OrganizationConnection')],
  'post /organizations/:id/connections': ['Enable a connection for an organization', one('OrganizationConnection', 201), { connection_id: 'con_email', assign_membership_on_login: false }],
  'get /organizations/:id/connections/:connection_id': ['Get a connection of an organization', one('OrganizationConnection')],
  'patch /organizations/:id/connections/:connection_id': ['Change a connection of an organization', one('OrganizationConnection'), { assign_membership_on_login: true }],
  'delete /organizations/:id/connections/:connection_id': ['Disable a connection for an organization', none()],
  'get /organizations/:id/members': ['List the members of an organization', list('members', 'OrganizationMember')],
  'post /organizations/:id/members': ['Add members to an organization', none(), { members: ['auth0|alice'] }],
  'delete /organizations/:id/members': ['Remove members from an organization, and end what was granted to them for it', none(), { members: ['auth0|alice'] }],
  'get /organizations/:id/invitations': ['List the invitations that nobody has accepted yet', list('invitations', 'OrganizationInvitation')],
  'post /organizations/:id/invitations': ['Invite somebody to an organization by mail', one('OrganizationInvitation', 201), { inviter: { name: 'Alice' }, invitee: { email: 'maria@example.com' }, client_id: 'notes-web' }],
  'get /organizations/:id/invitations/:invitation_id': ['Get an invitation', one('OrganizationInvitation')],
  'delete /organizations/:id/invitations/:invitation_id': ['Withdraw an invitation', none()],
  'get /organizations/:id/members/:user_id/roles': ['List the roles of a member within an organization', list('roles', 'Role')],
  'post /organizations/:id/members/:user_id/roles': ['Give a member roles within an organization', none(), { roles: ['rol_5a1f6c9e2b7d4038'] }],
  'delete /organizations/:id/members/:user_id/roles': ['Remove roles from a member', none(), { roles: ['rol_5a1f6c9e2b7d4038'] }],

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
  'patch /connections/:id/clients': ['Allow or forbid applications to use a connection', none(), [{ client_id: 'demo-web', status: true }]],
  'delete /connections/:id': ['Delete a connection and its accounts', none()],

  'get /device-credentials': ['List the refresh tokens of devices', list('device_credentials', 'DeviceCredential')],
  'delete /device-credentials/:id': ['End a refresh token of a device', none()],

  'get /grants': ['List what people have allowed applications to do', list('grants', 'Grant')],
  'delete /grants': ['End everything that a person has allowed', none()],
  'delete /grants/:id': ['End what a person has allowed an application to do', none()],

  'get /attack-protection/bot-detection': ['Get who has to solve a challenge', one('BotDetection')],
  'patch /attack-protection/bot-detection': ['Change who has to solve a challenge', one('BotDetection'), { challenge_password_policy: 'when_risky' }],
  'get /attack-protection/breached-password-detection': ['Get what a breached password leads to', one('BreachedPasswordDetection')],
  'patch /attack-protection/breached-password-detection': ['Change what a breached password leads to', one('BreachedPasswordDetection'), { enabled: true, shields: ['block', 'user_notification'] }],
  'get /attack-protection/brute-force-protection': ['Get how many wrong passwords pause an account', one('BruteForceProtection')],
  'patch /attack-protection/brute-force-protection': ['Change how many wrong passwords pause an account', one('BruteForceProtection'), { max_attempts: 5 }],
  'get /attack-protection/suspicious-ip-throttling': ['Get how addresses are throttled', one('SuspiciousIpThrottling')],
  'patch /attack-protection/suspicious-ip-throttling': ['Change how addresses are throttled', one('SuspiciousIpThrottling'), { enabled: true, shields: ['block'] }],

  'get /guardian/factors': ['List the second factors that exist', all('GuardianFactor')],
  'put /guardian/factors/:id': ['Allow or forbid a second factor', { 200: { description: 'The new state', schema: { type: 'object', example: { enabled: true } } } }, { enabled: true }],
  'get /guardian/policies': ['Get whether everybody is asked for a second factor', { 200: { description: 'Policies', schema: { type: 'array', items: { type: 'string' }, example: ['all-applications'] } } }],
  'put /guardian/policies': ['Set whether everybody is asked for a second factor', { 200: { description: 'Policies', schema: { type: 'array', items: { type: 'string' }, example: ['all-applications'] } } }, ['all-applications']],

  'get /logs': ['Search the log', list('logs', 'Log')],
  'get /logs/:id': ['Get an entry of the log', one('Log')],

  'get /branding': ['Get the logo, favicon and colours of the pages', one('Branding')],
  'patch /branding': ['Change the logo, favicon and colours of the pages', one('Branding'), { colors: { primary: '#0059d6' } }],
  'get /branding/templates/universal-login': ['Get the template of the pages', one('Template')],
  'put /branding/templates/universal-login': ['Set the template of the pages', { ...none(201, 'It is the first one'), ...none(204, 'It replaces another') }, { template: '<html><head>{%- auth0:head -%}</head><body>{%- auth0:widget -%}</body></html>' }],
  'delete /branding/templates/universal-login': ['Delete the template of the pages, which restores our own', none()],
  'get /branding/previews': ['List the pages that can be previewed', all('PreviewPage')],
  'post /branding/previews': ['Create an address at which a page can be previewed, in a frame', one('Preview', 201), { page: 'login', branding: { colors: { primary: '#0059d6' } } }],

  'post /tickets/email-verification': ['Create a link that confirms an address', one('Ticket', 201), { user_id: 'auth0|alice', result_url: 'http://localhost:3000/confirmed' }],
  'post /tickets/password-change': ['Create a link that sets a new password', one('Ticket', 201), { user_id: 'auth0|alice', result_url: 'http://localhost:3000/login' }],
  'post /jobs/verification-email': ['Send a verification mail', { ...one('Job', 201), 429: { description: 'Too many mails to this address', schema: { $ref: '#/components/schemas/ManagementError' } } }, { user_id: 'auth0|alice' }],
  'post /jobs/users-exports': ['Export users to a file, without their hashes', one('ExportJob'), { format: 'csv', fields: [{ name: 'email' }, { name: 'user_metadata.plan', export_as: 'plan' }] }],
  'post /jobs/users-imports': ['Import users, with the hashes of their passwords', { ...one('ImportJob', 202), 413: { description: 'The file is larger than 500 KB', schema: { $ref: '#/components/schemas/ManagementError' } }, 429: { description: 'Two imports are pending', schema: { $ref: '#/components/schemas/ManagementError' } } }, { users: '[{"email":"ada@example.com","password_hash":"$2b$10$8s0cJ6oUNnDR8kJZ7VmEZO7GqvKyQ1hYQ8Kx0vB9yVn0gW0bWqj5K"}]', connection_id: 'con_0Lq7yRk2bXcVnM1a' }],
  'get /jobs/:id': ['Get the state of a job', one('Job')],
  'get /jobs/:id/errors': ['List the users who were not imported', { ...all('ImportError'), ...none(204, 'There are none') }],

  'post /email-templates': ['Set your own text for a mail', one('EmailTemplate'), { template: 'reset_email', subject: 'A new password', body: '<a href="{{ url }}">Choose one</a>', syntax: 'liquid', enabled: true }],
  'get /email-templates/:id': ['Get the text of a mail', one('EmailTemplate')],
  'put /email-templates/:id': ['Replace the text of a mail', one('EmailTemplate'), { template: 'reset_email', subject: 'A new password', body: '<a href="{{ url }}">Choose one</a>', syntax: 'liquid', enabled: true }],
  'patch /email-templates/:id': ['Change the text of a mail', one('EmailTemplate'), { subject: 'A new password' }],
  'post /email-templates/:id/previews': ['Preview a mail: its HTML is at an address, for a frame', one('MailPreview', 201), { subject: 'A new password', ui_locales: 'de' }],

  'get /prompts': ['Get how people log in', one('Prompts')],
  'patch /prompts': ['Change how people log in', one('Prompts'), { identifier_first: true }],
  'get /prompts/:prompt/custom-text/:language': ['Get your own texts of a page', customText],
  'put /prompts/:prompt/custom-text/:language': ['Set your own texts of a page', customText, words],

  'get /tenants/settings': ['Get the settings', one('TenantSettings')],
  'patch /tenants/settings': ['Change the settings', one('TenantSettings'), { friendly_name: 'Acme', support_email: 'help@example.com' }],

  'get /keys/signing': ['List the signing keys', all('SigningKey')],
  'post /keys/signing/rotate': ['Rotate the signing keys', one('SigningKey', 201)],
  'get /keys/signing/:kid': ['Get a signing key', one('SigningKey')],
  'put /keys/signing/:kid/revoke': ['Revoke a signing key', one('SigningKey')],

  'post /keys/encryption/rekey': ['Seal what is stored under the current SECRETS_KEY', none()],

  'post /registration-tokens': ['Create a token for registering an application', one('RegistrationToken', 201), { ttl_sec: 3600 }],
};
