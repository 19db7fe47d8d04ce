/**
 * What an API's access tokens look like, by Auth0's names (https://auth0.com/docs/secure/tokens/access-tokens/access-token-profiles).
 * `access_token` has the header `typ: JWT`, which every JWT library accepts; `rfc9068_profile` has `at+jwt`, as RFC 9068 section 2.1
 * requires. With `_authz`, the claim `permissions` lists the API's granted scopes.
 */
import { type JWTVerifyGetKey, type JWTVerifyResult, jwtVerify } from 'jose';
import { JWTClaimValidationFailed } from 'jose/errors';

export const tokenDialects = [
  'access_token',
  'access_token_authz',
  'rfc9068_profile',
  'rfc9068_profile_authz',
] as const;
export type TokenDialect = (typeof tokenDialects)[number];

/**
 * Verifies one of our access tokens, in any dialect. Our ID tokens have neither a `client_id` nor a `jti`, so none is mistaken for an
 * access token, though both may have the type JWT. @throws jose's errors
 */
export async function verifyAccessToken(
  token: string,
  keys: JWTVerifyGetKey,
  expected: { issuer: string | string[]; audience?: string },
): Promise<JWTVerifyResult> {
  const verified = await jwtVerify(token, keys, {
    ...expected,
    requiredClaims: ['exp', 'jti', 'aud', 'client_id'],
  });
  const { typ } = verified.protectedHeader;
  if (typ !== 'at+jwt' && typ !== 'JWT')
    throw new JWTClaimValidationFailed('no access token', verified.payload, 'typ', 'check_failed');
  return verified;
}
