/**
 * `api.redirect`: sends the person elsewhere in the middle of a sign-in, and makes the tokens by which the action and that place
 * trust each other (https://auth0.com/docs/customize/actions/explore-triggers/signup-and-login-triggers/login-trigger/redirect-with-actions).
 * They are HS256 JWTs under a shared secret, made synchronously, as Auth0’s functions are synchronous.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

type Values = Record<string, unknown>;
type Writes = (name: string) => (...args: unknown[]) => unknown;

const defaultSeconds = 900;

/** What such a token says about the event; captured before the action can change it. */
type RedirectClaims = { issuer: unknown; subject: unknown; ip: unknown; given: Values; state: unknown };

function redirectClaimsOf(event: object): RedirectClaims {
  const { request, user } = event as { request?: { query?: Values; body?: Values } & Values; user?: Values };
  const { hostname: issuer, ip, query, body } = request ?? {};
  return { issuer, subject: user?.user_id, ip, given: { ...query, ...body }, state: query?.state ?? body?.state };
}

export function makeRedirectApi(record: Writes, given: { canRedirect: boolean; event: object }) {
  const about = redirectClaimsOf(given.event);
  const sendUserTo = record('redirect.sendUserTo');
  return {
    canRedirect: () => given.canRedirect,
    sendUserTo(url: unknown, { query = {} }: { query?: Values } = {}) {
      const address = URL.parse(String(url));
      if (!address || !['https:', 'http:'].includes(address.protocol))
        throw new Error('api.redirect.sendUserTo needs an http or https URL');
      for (const [name, value] of Object.entries(query))
        if (value !== undefined && value !== null) address.searchParams.set(name, String(value));
      return sendUserTo(address.href);
    },
    encodeToken({
      secret,
      payload = {},
      expiresInSeconds = defaultSeconds,
    }: {
      secret?: unknown;
      payload?: Values;
      expiresInSeconds?: number;
    } = {}): string {
      const { issuer: iss, subject: sub, ip } = about;
      const iat = Math.floor(Date.now() / 1000);
      return signed({ iss, sub, ip, ...payload, iat, exp: iat + Number(expiresInSeconds) }, keyOf(secret));
    },
    validateToken({
      secret,
      tokenParameterName = 'session_token',
    }: {
      secret?: unknown;
      tokenParameterName?: string;
    } = {}): Values {
      const claims = verified(about.given[tokenParameterName], keyOf(secret));
      if (typeof claims.exp !== 'number' || claims.exp <= Date.now() / 1000) throw invalid('it has expired');
      if (typeof claims.state !== 'string' || claims.state !== about.state)
        throw invalid('State in the token does not match the /continue state.');
      return claims;
    },
  };
}

const invalid = (reason: string) => new Error(`The session token is invalid: ${reason}`);

function keyOf(secret: unknown): string {
  if (typeof secret === 'string' && secret !== '') return secret;
  throw new Error('api.redirect needs a secret for its tokens');
}

const encoded = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
const macOf = (text: string, key: string) => createHmac('sha256', key).update(text).digest();

function signed(claims: Values, key: string): string {
  const text = `${encoded({ alg: 'HS256', typ: 'JWT' })}.${encoded(claims)}`;
  return `${text}.${macOf(text, key).toString('base64url')}`;
}

/** @throws unless it is a JWT by HS256 under this key */
function verified(token: unknown, key: string): Values {
  const parts = typeof token === 'string' ? token.split('.') : [];
  if (parts.length !== 3) throw invalid('there is none');
  const [header, claims, signature] = parts as [string, string, string];
  const mac = macOf(`${header}.${claims}`, key);
  const given = Buffer.from(signature, 'base64url');
  if (given.length !== mac.length || !timingSafeEqual(given, mac)) throw invalid('its signature is wrong');
  if (parsed(header).alg !== 'HS256') throw invalid('it is not signed by HS256');
  return parsed(claims);
}

function parsed(part: string): Values {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString());
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Values;
  } catch {
    // Reported below.
  }
  throw invalid('it is malformed');
}
