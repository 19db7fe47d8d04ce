/**
 * Authenticates callers of the management API: an application with an access token of ours for `api/v2/`. The token is a JWT that
 * is valid for a day, but it opens only what its client may do now.
 */
import { baseUrlOf } from '@gatepost/runtime/issuer';
import { explainRefusal, type RefusedToken } from '@gatepost/runtime/refused-token';
import { createLocalJWKSet, type JSONWebKeySet, errors as joseErrors } from 'jose';
import { makeCache } from '../cache.ts';
import type { Changes } from '../changes.ts';
import type { Database } from '../database.ts';
import type { RevokedTokens } from '../library/tokens/structured.ts';
import { verifyAccessToken } from '../resources/token-dialect.ts';
import { ManagementProblem } from './problem.ts';

export type Caller = {
  clientId: string;
  scopes: Set<string>;
  /** The client whose pages may read the answer. */
  web_origins: string[];
  allowed_origins: string[];
};
/** @throws ManagementProblem 401 */
export type Authenticate = (authorization: string | undefined) => Promise<Caller>;

/** How old our knowledge of a client, its grant and our keys may be if a change was not noticed. */
const maxAgeMs = 5_000;

export function makeAuthenticate(parts: {
  /** All of ours; the first one's name is in the audience. */
  issuers: string[];
  db: Database;
  changes: Changes;
  revokedTokens: Pick<RevokedTokens, 'has'>;
}): Authenticate {
  const { issuers, db, changes, revokedTokens } = parts;
  const audience = `${baseUrlOf(issuers[0]!)}api/v2/`;
  const keys = openKeys(db, changes);
  const holders = openHolders(db, changes, audience);

  return async (authorization) => {
    if (authorization === undefined) throw refused('Missing authentication');
    const token = /^Bearer ([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(authorization)?.[1];
    if (token === undefined)
      throw refused('Bad HTTP authentication header format', explainRefusal('', undefined, { issuers, audience }));
    const { payload } = await verifyAccessToken(token, await keys.get('all'), { issuer: issuers, audience }).catch(
      (cause: unknown) => {
        throw cause instanceof joseErrors.JOSEError
          ? refused(reasonOf(cause), explainRefusal(token, cause, { issuers, audience }), cause)
          : cause;
      },
    );
    const clientId = String(payload.client_id);
    const unusable = (description: string) =>
      refused('Invalid token', { ...explainRefusal(token, undefined, { issuers, audience }), description });
    if (payload.cnf !== undefined) throw unusable('The token is bound to a key (RFC 9449), and no bearer token');
    if (await revokedTokens.has(payload.jti!)) throw unusable('The token was revoked');
    const holder = await holders.get(clientId);
    const [grant] = holder?.grants ?? [];
    // It must be one that could get this token now (library/grants/client-credentials.ts).
    if (!holder?.grantTypes.includes('client_credentials') || holder.tokenEndpointAuthMethod === 'none' || !grant)
      throw unusable(
        'The client may not have this token any more: its grant for the management API or its client_credentials is gone',
      );
    const granted = new Set(grant.scope);
    return {
      clientId,
      scopes: new Set(
        String(payload.scope ?? '')
          .split(' ')
          .filter((scope) => granted.has(scope)),
      ),
      web_origins: holder.webOrigins,
      allowed_origins: holder.allowedOrigins,
    };
  };
}

function openKeys(db: Database, changes: Changes) {
  return makeCache({
    changes,
    tables: ['signing_keys'],
    maxAgeMs,
    load: async () => {
      const rows = await db.signingKey.findMany({
        where: { revokedAt: null, OR: [{ retiresAt: null }, { retiresAt: { gt: new Date() } }] },
      });
      // Written by us alone (keys/signing-keys.ts).
      return createLocalJWKSet({ keys: rows.map((row) => row.publicJwk) } as unknown as JSONWebKeySet);
    },
  });
}

/** Clients that may hold a token for the management API. */
function openHolders(db: Database, changes: Changes, audience: string) {
  return makeCache({
    changes,
    tables: ['clients', 'client_grants'],
    max: 1_000,
    maxAgeMs,
    load: async (clientId) =>
      (await db.client.findUnique({
        where: { clientId },
        select: {
          webOrigins: true,
          allowedOrigins: true,
          grantTypes: true,
          tokenEndpointAuthMethod: true,
          grants: { where: { audience }, select: { scope: true } },
        },
      })) ?? undefined,
  });
}

function reasonOf(error: joseErrors.JOSEError): string {
  if (error instanceof joseErrors.JWTExpired) return 'Expired token received for JSON Web Token validation';
  if (error instanceof joseErrors.JWTClaimValidationFailed && error.claim === 'aud') return 'Bad audience';
  return 'Invalid token';
}

function refused(message: string, why?: RefusedToken, cause?: unknown): ManagementProblem {
  return new ManagementProblem(401, 'invalid_token', message, { cause, ...(why && { refused: why }) });
}
