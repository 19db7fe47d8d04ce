/** What a client's assertion (RFC 7523 section 3) must satisfy beyond the library's own checks. */
import { type Client, errors, type KoaContextWithOIDC } from 'oidc-provider';
import { checkFapiAssertion } from './fapi.ts';
import { hour, minute } from './lifetimes.ts';

/** The longest an assertion may still be valid when it arrives, in seconds: some libraries make them for an hour. */
const lifetimeMax = hour;
/** How far the client's clock may be ahead, in seconds. */
const skew = minute;

/**
 * `assertJwtClientAuthClaimsAndHeader`. Each assertion is remembered until it expires, so that it counts once; one that expires in
 * years would be remembered for years.
 * @throws InvalidClientAuth
 */
export async function checkAssertion(
  ctx: KoaContextWithOIDC,
  claims: Record<string, unknown>,
  header: Record<string, unknown>,
  client: Client,
): Promise<void> {
  // The library has checked that it is a number.
  const now = Date.now() / 1000;
  if ((claims.exp as number) > now + lifetimeMax + skew) throw refused('must expire (exp) within an hour');
  if (claims.iat !== undefined && !((claims.iat as number) <= now + skew))
    throw refused('was issued (iat) in the future');
  checkFapiAssertion(ctx, claims, header, client);
}

/** The signature has been verified, so the client may be told what is wrong. */
function refused(why: string): Error {
  const error_description = `the client assertion ${why}`;
  return Object.assign(new errors.InvalidClientAuth(error_description), { error_description });
}
