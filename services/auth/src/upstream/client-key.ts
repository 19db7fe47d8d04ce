/** `private_key_jwt` towards a provider (RFC 7523): an assertion that is signed by the connection's own key, never by one of ours for tokens. */
import { importPKCS8 } from 'jose';
import * as oidc from 'openid-client';
import { UpstreamFailure } from './failure.ts';
import type { Options } from './options.ts';

/** What a key may sign with; the first is taken where the connection does not say. */
export const keyAlgs = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'EdDSA'] as const;

/** Microsoft takes its own token endpoint for an audience, and has no issuer that is one. */
export function clientKey(
  { private_key: pem = '', kid, token_endpoint_auth_signing_alg: alg = 'RS256' }: Options,
  { tokenEndpointAsAudience }: { tokenEndpointAsAudience: boolean },
): oidc.ClientAuth {
  return async (server, client, body, headers) => {
    const key = await importPKCS8(pem, alg).catch((cause: unknown) => {
      throw new UpstreamFailure('misconfigured', { cause }); // another curve than that of the algorithm
    });
    const authenticate = oidc.PrivateKeyJwt(kid === undefined ? key : { key, kid }, {
      [oidc.modifyAssertion]: (_header, claims) => {
        if (tokenEndpointAsAudience) claims.aud = server.token_endpoint!;
      },
    });
    await authenticate(server, client, body, headers);
  };
}
