/**
 * Why an access token was refused: in words for its sender (RFC 6750 section 3) and in fields for the log. Both reveal only the names in the
 * token, never a part of its text.
 */

export type RefusedToken = {
  reason:
    | 'no_jwt'
    | 'wrong_issuer'
    | 'unknown_key'
    | 'bad_signature'
    | 'wrong_audience'
    | 'expired'
    | 'not_yet_valid'
    | 'no_access_token'
    | 'not_usable';
  description: string;
  /** As claimed by the token, verified or not. */
  kid?: string | undefined;
  aud?: string | undefined;
  client?: string | undefined;
};

/** @param error what jose threw; undefined for a valid token that is unusable all the same */
export function explainRefusal(
  text: string,
  error: unknown,
  expected: { issuers: string[]; audience: string },
): RefusedToken {
  const [header, claims] = text.split('.', 2).map(readPart);
  if (!header || !claims)
    return {
      reason: 'no_jwt',
      description: `The token is not a JWT. Ask for one with audience=${expected.audience}`,
    };
  const { code, claim } = (error ?? {}) as { code?: string; claim?: string };
  return {
    ...reasonOf(code, claim, claims, expected),
    kid: nameOf(header.kid),
    aud: nameOf(Array.isArray(claims.aud) ? claims.aud.join(' ') : claims.aud),
    client: nameOf(claims.client_id ?? claims.azp),
  };
}

/** The challenge of RFC 6750 section 3. */
export function challengeOf(description: string): string {
  return `Bearer error="invalid_token", error_description="${description.replace(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, '?')}"`;
}

/** The fields of a log line. */
export function loggedRefusal({ reason, kid, aud, client }: RefusedToken): Record<string, string | undefined> {
  return { 'token.refused': reason, 'token.kid': kid, 'token.aud': aud, 'client.id': client };
}

type Claims = Record<string, unknown>;

function reasonOf(
  code: string | undefined,
  claim: string | undefined,
  claims: Claims,
  { issuers, audience }: { issuers: string[]; audience: string },
): Pick<RefusedToken, 'reason' | 'description'> {
  const isForeign = !issuers.some((issuer) => issuer === claims.iss);
  if (code === 'ERR_JWT_EXPIRED') return { reason: 'expired', description: 'The token has expired' };
  if (code === 'ERR_JWKS_NO_MATCHING_KEY' || claim === 'iss')
    // Another issuer's token names that issuer's key: the issuer's name says more.
    return isForeign
      ? { reason: 'wrong_issuer', description: `The token is not from the issuer ${issuers.join(' or ')}` }
      : { reason: 'unknown_key', description: 'The token is signed with a key that the issuer does not publish' };
  if (code === 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED')
    return { reason: 'bad_signature', description: 'The signature of the token does not match' };
  if (claim === 'aud')
    return { reason: 'wrong_audience', description: `The token is not for the audience ${audience}` };
  if (claim === 'nbf') return { reason: 'not_yet_valid', description: 'The token is not valid yet' };
  if (claim !== undefined || code === 'ERR_JWT_INVALID')
    return { reason: 'no_access_token', description: 'The token is not an access token of this issuer' };
  return { reason: 'not_usable', description: 'The token cannot be used here' };
}

function readPart(part: string): Claims | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString());
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Claims) : undefined;
  } catch {
    return undefined;
  }
}

/** Needed because anybody can write anything there. */
function nameOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value.slice(0, 100).toWellFormed() : undefined;
}
