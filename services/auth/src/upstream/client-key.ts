/** `private_key_jwt` towards a provider (RFC 7523): an assertion signed by the connection's own key, never by one of our token keys. */
import { importPKCS8 } from 'jose';
import * as oidc from 'openid-client';
import { UpstreamFailure } from './failure.ts';
import type { Options } from './options.ts';

/** Algorithms that a key may sign with; the first is the connection's default. */
export const keyAlgs = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'EdDSA'] as const;

/** Microsoft expects its own token endpoint as the audience, and has no issuer that would do. */
export function clientKey(
  { private_key: pem = '', kid, token_endpoint_auth_signing_alg: alg = 'RS256' }: Options,
  { tokenEndpointAsAudience }: { tokenEndpointAsAudience: boolean },
): oidc.ClientAuth {
  return async (server, client, body, headers) => {
    const key = await importPKCS8(pem, alg).catch((cause: unknown) => {
      throw new UpstreamFailure('misconfigured', { cause }); // the curve does not fit the algorithm
    });
    const authenticate = oidc.PrivateKeyJwt(kid === undefined ? key : { key, kid }, {
      [oidc.modifyAssertion]: (_header, claims) => {
        if (tokenEndpointAsAudience) claims.aud = server.token_endpoint!;
      },
    });
    await authenticate(server, client, body, headers);
  };
}
