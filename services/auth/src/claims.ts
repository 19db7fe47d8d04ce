/** What our tokens say: ID token claims by scope, and what an access token carries beyond RFC 9068. */
import { baseUrlOf } from '@gatepost/runtime/issuer';
import type { Configuration, KoaContextWithOIDC } from 'oidc-provider';
import type { OwnMetadata } from './clients/metadata.ts';
import { openidScopes } from './resources/audience.ts';
import type { TokenDialect } from './resources/token-dialect.ts';

export const claims: Configuration['claims'] = {
  openid: ['sub', 'amr'],
  profile: ['name', 'given_name', 'family_name', 'nickname', 'picture', 'updated_at'],
  email: ['email', 'email_verified'],
  phone: ['phone_number', 'phone_number_verified'],
};

/** The access token’s claim with the id of its grant: how userinfo and introspection learn that it was revoked. */
export const grantClaim = 'gid';

type Token = {
  kind: string;
  scopes?: Set<string>;
  grantId?: string;
  client?: OwnMetadata;
  clientId?: string;
  resourceServer?: { jwt?: { dialect?: TokenDialect } };
};
type Jwt = { header?: Record<string, unknown>; payload: Record<string, unknown> };

/**
 * What our JWTs carry beyond RFC 9068: `azp`, `first_party` (which an exchanged token may have lost: grants/token-exchange.ts),
 * and, for a person’s token with `openid` among its scopes, an `aud` array with the userinfo URL, as at Auth0. The library itself
 * sets a machine’s `sub` to its client_id.
 */
export function makeJwtCustomizer(issuer: string) {
  return async (_ctx: KoaContextWithOIDC, token: Token, jwt: Jwt): Promise<void> => {
    const { payload } = jwt;
    const dialect = token.resourceServer?.jwt?.dialect ?? 'rfc9068_profile';
    if (dialect.startsWith('access_token')) jwt.header = { typ: 'JWT' };
    if (dialect.endsWith('_authz'))
      payload.permissions = [...(token.scopes ?? [])].filter((scope) => !openidScopes.includes(scope));
    payload.azp = payload.client_id;
    payload.first_party = payload.first_party !== false && (token.client?.is_first_party ?? false);
    if (token.kind !== 'AccessToken') return;
    if (token.grantId) payload[grantClaim] = token.grantId;
    if (token.scopes?.has('openid')) payload.aud = [payload.aud, `${baseUrlOf(issuer)}userinfo`];
  };
}
