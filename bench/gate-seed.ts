/** The seed of the gate under measurement: an API with ES256, a machine, a single-page application, a trusted client, people. */
import { generateKeyPairSync } from 'node:crypto';

export const api = 'urn:bench:api';
const password = 'correct horse battery staple';

/** Gets a JWT on its own behalf. */
export const machine = {
  client_id: 'bench-machine',
  client_secret: 'bench-machine-secret',
  app_type: 'non_interactive',
  grant_types: ['client_credentials'],
  client_grants: [{ audience: api, scope: ['read:x'] }],
};

/** People log in to it in their browsers. */
export const app = {
  client_id: 'bench-app',
  app_type: 'spa',
  callbacks: ['https://app.example/cb'],
  grant_types: ['authorization_code'],
  token_endpoint_auth_method: 'none',
};

/** The same people use it with the same session, and it keeps refresh tokens. */
export const keeper = { ...app, client_id: 'bench-keeper', grant_types: ['authorization_code', 'refresh_token'] };

/** The same as `app`, but its ID tokens are signed with ES256 (`useEs256`). */
export const modern = { ...app, client_id: 'bench-modern' };

const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
export const keys = { privateKey, jwk: publicKey.export({ format: 'jwk' }) };

/** A machine that signs assertions. */
export const signer = {
  ...machine,
  client_id: 'bench-signer',
  client_secret: undefined,
  token_endpoint_auth_method: 'private_key_jwt',
  jwks: { keys: [{ ...keys.jwk, kid: 'bench', alg: 'ES256', use: 'sig' }] },
};

/** The API as a client: it introspects tokens. */
export const server = {
  client_id: 'bench-server',
  client_secret: 'bench-server-secret',
  app_type: 'non_interactive',
  grant_types: [],
  resource_server_identifier: api,
};

const trusted = { client_id: 'bench-trusted', client_secret: 'bench-trusted-secret', grant_types: ['password'] };

/** Many, because ten simultaneous tries for one of them would look like guessing. */
export const people = Array.from({ length: 64 }, (_, index) => ({
  user_id: `auth0|bench-${index}`,
  email: `bench-${index}@example.com`,
  email_verified: true,
  name: `Bench ${index}`,
  password,
}));

export const seed = {
  apis: [
    { identifier: api, signing_alg: 'ES256', token_lifetime: 600, allow_offline_access: true, scopes: ['read:x'] },
  ],
  clients: [machine, app, keeper, modern, signer, server, trusted],
  users: people,
  connections: [{ name: 'Username-Password-Authentication', strategy: 'auth0' }],
};

/** The body of a machine's token request, which bare oidc-provider understands too. */
export const machineForm = new URLSearchParams({
  grant_type: 'client_credentials',
  client_id: machine.client_id,
  client_secret: machine.client_secret,
  resource: api,
  scope: 'read:x',
}).toString();

/** One token request per person, with the password grant. */
export const passwordForms = people.map(({ email }) =>
  new URLSearchParams({
    grant_type: 'password',
    client_id: trusted.client_id,
    client_secret: trusted.client_secret,
    username: email,
    password,
    audience: api,
    scope: 'openid',
  }).toString(),
);

/** Parameters of the application's authorization request, without PKCE. */
export const appRequest = {
  client_id: app.client_id,
  redirect_uri: app.callbacks[0]!,
  response_type: 'code',
  scope: 'openid profile email read:x',
  audience: api,
  state: 'bench',
};
