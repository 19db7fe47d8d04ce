/** Checks the gate's access tokens (RFC 9068, or Auth0’s profile of it). */
import { hash } from 'node:crypto';
import { challengeOf, explainRefusal, type RefusedToken } from '@gatepost/runtime/refused-token';
import { errors, type JWTHeaderParameters, type JWTPayload, jwtVerify } from 'jose';
import { isIdentifier } from '../accounts/name.ts';
import { ApiError, unavailable } from '../http/errors.ts';
import type { Keys } from './keys.ts';
import { site, sufficient } from './scopes.ts';

/** Who calls, and through which client. */
export type Token = {
  /** The gate's `sub`; for a machine, its client id. */
  subject: string;
  clientId: string;
  scopes: string[];
  /** The same in the form of `X-OAuth-Scopes`. */
  scopesHeader: string;
  /** The third-party application acting for the user; null for the user (through a first-party client) or a machine. */
  app: string | null;
  /**
   * The gate says that the client belongs to this installation. Without the claim it counts as a third party’s, even if it is a machine.
   */
  firstParty: boolean;
  /** A person who administers the installation enters every account as its admin. Machines go by their memberships. */
  siteAdmin: boolean;
  /** When it expires, ms since 1970. */
  expiresMs: number;
};

/** One caller, for what is limited by caller: a subject through a client. */
export const callerOf = ({ clientId, subject }: Token): string => `${clientId} ${subject}`;

const timerMaxMs = 2 ** 31 - 1;

/** How long a timer waits for the token to expire. */
export const expiresInMs = ({ expiresMs }: Token): number => Math.max(0, Math.min(expiresMs - Date.now(), timerMaxMs));

export type CheckToken = (text: string) => Promise<Token>;

// Only the gate’s asymmetric algorithms; neither `none` nor HMAC.
const algorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
const clockToleranceSeconds = 5;
const rememberedMax = 10_000;

/**
 * Makes the check for tokens of one audience and one issuer, under any of its names. The check throws ApiError 401 `Bad credentials` for any
 * fault of the token, and 503 when keys are needed and the gate is away. A valid token is remembered, by its hash, until it expires or the
 * gate's keys are read again (docs/decisions/0202-looking-at-a-token.md).
 */
export function makeTokenCheck(options: Checking): CheckToken {
  const { keys, now = Date.now, max = rememberedMax } = options;
  const remembered = new Map<string, { token: Token; keysRead: unknown }>();

  return async (text) => {
    const digest = hash('sha256', text, 'base64');
    const known = remembered.get(digest);
    if (known && known.token.expiresMs > now() && known.keysRead === keys.lastRead()) return known.token;
    remembered.delete(digest);

    const keysRead = keys.lastRead(); // taken first: the token was not checked with keys read meanwhile
    const claims = await verify(text, options, now());
    const token = readClaims(claims);
    if (!token) throw badCredentials(explainRefusal(text, new errors.JWTInvalid('no client'), options));
    if (remembered.size >= max) remembered.delete(remembered.keys().next().value!);
    remembered.set(digest, { token, keysRead });
    return token;
  };
}

type Checking = {
  keys: Pick<Keys, 'get' | 'lastRead'>;
  issuers: string[];
  audience: string;
  /** Milliseconds since 1970. Default: the clock. */
  now?: () => number;
  /** How many tokens to remember at most; the oldest goes first. Default 10,000. */
  max?: number;
};

async function verify(text: string, { keys, issuers, audience }: Checking, nowMs: number): Promise<JWTPayload> {
  try {
    const { payload, protectedHeader } = await jwtVerify(text, keys.get, {
      currentDate: new Date(nowMs),
      issuer: issuers,
      audience,
      algorithms,
      clockTolerance: clockToleranceSeconds,
      requiredClaims: ['sub', 'exp'],
    });
    if (!isAccessToken(protectedHeader, payload)) throw new errors.JWTInvalid('no access token');
    return payload;
  } catch (error) {
    if (isTokensFault(error)) throw badCredentials(explainRefusal(text, error, { issuers, audience }), error);
    throw unavailable(error);
  }
}

/**
 * Depending on the API's `token_dialect`, the type is that of RFC 9068 or Auth0's plain JWT. The gate's ID tokens have the latter too, but have
 * neither `client_id` nor `jti`.
 */
function isAccessToken({ typ }: JWTHeaderParameters, claims: JWTPayload): boolean {
  if (typ === 'JWT') return typeof claims.client_id === 'string' && typeof claims.jti === 'string';
  return typ?.toLowerCase().replace(/^application\//, '') === 'at+jwt';
}

/** Each fault found by jose has a class of its own; the plain JOSEError, a timeout and JWKSInvalid come from fetching the keys. */
export function isTokensFault(error: unknown): boolean {
  return (
    error instanceof errors.JOSEError &&
    error.code !== errors.JOSEError.code &&
    !(error instanceof errors.JWKSTimeout) &&
    !(error instanceof errors.JWKSInvalid)
  );
}

function readClaims(claims: JWTPayload): Token | undefined {
  const clientId = claims.client_id ?? claims.azp;
  if (!isIdentifier(claims.sub) || !isIdentifier(clientId)) return undefined;
  const isMachine = claims.sub === clientId;
  const granted = typeof claims.scope === 'string' ? claims.scope.split(' ').filter(isScope) : [];
  const firstParty = claims.first_party === true;
  // A machine becomes an administrator of the installation by an operator’s client grant. A person gets any scope that an application asks for,
  // unless the gate says that it has limited them to the person’s permissions; and no third party administers anything for them.
  const mayAdminister = isMachine || (claims.rbac === true && firstParty);
  const scopes = mayAdminister ? granted : granted.filter((scope) => !site.includes(scope));
  return {
    subject: claims.sub,
    clientId,
    scopes,
    scopesHeader: scopes.toSorted().join(', '),
    app: isMachine || firstParty ? null : clientId,
    firstParty,
    siteAdmin: !isMachine && sufficient(scopes, site),
    expiresMs: ((claims.exp ?? 0) + clockToleranceSeconds) * 1000,
  };
}

// Scopes are repeated in a header of every answer; anything that RFC 6749 section 3.3 does not allow is left out.
const isScope = (text: string) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(text);

const unread: RefusedToken = { reason: 'no_jwt', description: 'There is no access token in the Authorization header' };

/** Answers like GitHub; one of its headers and the request's log line give the reason. */
export class BadCredentials extends ApiError {
  override name = 'BadCredentials';
  readonly refused: RefusedToken;

  constructor(refused: RefusedToken, cause?: unknown) {
    super(401, 'Bad credentials', { headers: { 'WWW-Authenticate': challengeOf(refused.description) }, cause });
    this.refused = refused;
  }
}

export const badCredentials = (refused = unread, cause?: unknown) => new BadCredentials(refused, cause);
