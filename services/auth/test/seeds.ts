/** Seeds that tests share. */
export const api = 'https://api.example.com/';
export const machine = {
  client_id: 'machine',
  client_secret: 'machine-secret',
  app_type: 'non_interactive',
  grant_types: ['client_credentials'],
  client_grants: [{ audience: api, scope: ['read:x', 'write:x'] }],
};
export const apis = [
  {
    identifier: api,
    name: 'Example API',
    token_lifetime: 600,
    allow_offline_access: true,
    scopes: ['read:x', 'write:x', 'admin:x'],
  },
  { identifier: 'urn:es', signing_alg: 'ES256', scopes: ['read:x'] },
  { identifier: 'plain name', signing_alg: 'EdDSA', scopes: ['read:x'] },
  { identifier: 'urn:ps', signing_alg: 'PS256', scopes: ['read:x'] },
];

const callback = 'https://app.example/cb';
export const web = {
  client_id: 'web',
  client_secret: 'web-secret',
  name: 'Web App',
  is_first_party: true,
  callbacks: [callback],
  allowed_logout_urls: ['https://app.example/bye'],
  grant_types: ['authorization_code', 'refresh_token'],
};
/** Somebody else's application: its users are asked for consent. */
export const third = {
  ...web,
  client_id: 'third',
  client_secret: 'third-secret',
  name: 'Third <b>Party</b>',
  is_first_party: false,
};
export const spa = {
  client_id: 'spa',
  name: 'Single Page',
  app_type: 'spa',
  callbacks: [callback, 'https://app.example'],
  allowed_logout_urls: ['https://app.example/bye'],
  web_origins: ['https://app.example'],
  allowed_origins: ['https://app.example'],
  grant_types: ['authorization_code', 'implicit', 'refresh_token'],
  token_endpoint_auth_method: 'none',
};
export const alice = {
  user_id: 'auth0|alice',
  email: 'alice@example.com',
  email_verified: true,
  nickname: 'alice',
  name: 'Alice Example',
  phone_number: '+15555550100',
  password: 'correct horse battery staple',
};
export const bob = {
  ...alice,
  user_id: 'auth0|bob',
  email: 'bob@example.com',
  nickname: 'bob',
  name: 'Bob',
  phone_number: '+15555550101',
};
export const connections = [
  { name: 'Username-Password-Authentication', strategy: 'auth0' },
  { name: 'email', strategy: 'email' },
  { name: 'sms', strategy: 'sms' },
];
/** Most tests read claims as Auth0's SDKs do. */
export const settings = { oidc_conformant_claims: false };
export const seed = { settings, apis, clients: [machine, web, third, spa], users: [alice, bob], connections };

const passwordGrants = ['password', 'http://auth0.com/oauth/grant-type/password-realm'];
export const trusted = {
  client_id: 'trusted',
  client_secret: 'trusted-secret',
  grant_types: [...passwordGrants, 'refresh_token'],
  is_token_endpoint_ip_header_trusted: true,
};
export const untrusted = { ...trusted, client_id: 'untrusted', is_first_party: false };
export const native = {
  client_id: 'native',
  app_type: 'native',
  callbacks: ['http://127.0.0.1/callback', 'com.example.app:/cb'],
  grant_types: [
    'authorization_code',
    'refresh_token',
    'urn:ietf:params:oauth:grant-type:device_code',
    'http://auth0.com/oauth/grant-type/passwordless/otp',
  ],
  token_endpoint_auth_method: 'none',
};
/** Its refresh tokens may be used by several tabs at once, however long a busy machine takes to answer them all. */
export const tabs = { ...spa, client_id: 'tabs', refresh_token: { rotation_type: 'rotating', leeway: 300 } };
/** The API itself, as a client: introspects what it is given, and exchanges it to go on. */
export const apiClient = {
  client_id: 'api',
  client_secret: 'api-secret',
  grant_types: ['urn:ietf:params:oauth:grant-type:token-exchange', 'client_credentials'],
  resource_server_identifier: api,
  client_grants: [{ audience: 'urn:es', scope: ['read:x'] }],
};
export const fullSeed = { ...seed, clients: [...seed.clients, trusted, untrusted, native, tabs, apiClient] };

/** A sign-in to `spa` that ends with an ID token in the fragment. */
export const spaRequest = {
  client_id: 'spa',
  redirect_uri: 'https://app.example/cb',
  scope: 'openid',
  response_type: 'id_token',
  nonce: 'n',
};
