/**
 * The ceiling: oidc-provider alone, its artefacts in memory, answering client_credentials with an ES256 JWT for the client, API and scope of
 * `gate-seed.ts`, and people by its development pages, which accept any login. A separate process. Arguments: the port, and the library's
 * name or URL. Sends `ready`.
 */
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { app, keeper, machine, server } from './gate-seed.ts';

const port = Number(process.argv[2]);
const { default: Provider } = (await import(process.argv[3]!)) as typeof import('oidc-provider');
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });

const provider = new Provider(`http://localhost:${port}`, {
  // Node's type of a JWK is looser than the library's.
  jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: randomUUID(), alg: 'ES256', use: 'sig' } as never] },
  clients: [
    {
      client_id: machine.client_id,
      client_secret: machine.client_secret,
      grant_types: ['client_credentials'],
      response_types: [],
      redirect_uris: [],
      id_token_signed_response_alg: 'ES256',
      token_endpoint_auth_method: 'client_secret_post',
    },
    {
      client_id: keeper.client_id,
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      redirect_uris: app.callbacks,
      id_token_signed_response_alg: 'ES256',
      token_endpoint_auth_method: 'none',
    },
    {
      client_id: server.client_id,
      client_secret: server.client_secret,
      grant_types: [],
      response_types: [],
      redirect_uris: [],
      id_token_signed_response_alg: 'ES256',
      token_endpoint_auth_method: 'client_secret_post',
    },
  ],
  routes: { token: '/oauth/token' },
  cookies: { keys: [randomUUID()] },
  issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed('refresh_token'),
  rotateRefreshToken: true,
  findAccount: (_ctx, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
  features: {
    devInteractions: { enabled: true },
    introspection: { enabled: true },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_ctx, audience) => ({
        audience,
        scope: 'read:x',
        accessTokenFormat: 'jwt',
        accessTokenTTL: 600,
        jwt: { sign: { alg: 'ES256' } },
      }),
    },
  },
});
provider.listen(port, '127.0.0.1', () => process.send?.('ready'));
process.on('disconnect', () => process.exit());
