/**
 * Authenticates callers of the management API: an application, or a person through one, with one of our access tokens for `api/v2/`. The
 * token is a JWT valid for a day, but it allows only what its client, or its person, may do now.
 */
import { baseUrlOf } from '@gatepost/runtime/issuer';
import { explainRefusal, type RefusedToken } from '@gatepost/runtime/refused-token';
import { type JWTPayload, errors as joseErrors } from 'jose';
import { loadGrant } from '../adapter/known-grants.ts';
import { makeCache } from '../cache.ts';
import type { Changes } from '../changes.ts';
import { grantClaim } from '../claims.ts';
import type { Database, Pool } from '../database.ts';
import { loadLiveKeys } from '../keys/live-keys.ts';
import type { RevokedTokens } from '../library/tokens/structured.ts';
import { verifyAccessToken } from '../resources/token-dialect.ts';
import type { PermissionStore } from '../roles/permissions.ts';
import { ManagementProblem } from './problem.ts';

export type Caller = {
  clientId: string;
  /** The person acting through the application; undefined when it acts by itself. */
  userId: string | undefined;
  scopes: Set<string>;
  /** The origins of the client's pages, which may read the answer. */
  web_origins: string[];
  allowed_origins: string[];
  redirectUris: string[];
};
/** @throws ManagementProblem 401 */
export type Authenticate = (authorization: string | undefined) => Promise<Caller>;

/** How old our knowledge of a client, its grant and our keys may be if we missed a change. */
const maxAgeMs = 5_000;

export function makeAuthenticate(parts: {
  /** All of ours; the audience is named after the first. */
  issuers: string[];
  db: Database;
  pool: Pool;
  changes: Changes;
  revokedTokens: Pick<RevokedTokens, 'has'>;
  permissions: Pick<PermissionStore, 'of'>;
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
    const userId = payload[grantClaim] === undefined ? undefined : payload.sub;
    const allowed =
      userId === undefined ? grantOf(holder) : holder?.isFirstParty && (await permissionsOf(parts, payload, audience));
    if (!holder || !allowed) throw unusable(`The ${userId === undefined ? 'client' : 'person'} ${lost}`);
    const may = new Set(allowed);
    return {
      clientId,
      userId,
      scopes: new Set(
        String(payload.scope ?? '')
          .split(' ')
          .filter((scope) => may.has(scope)),
      ),
      web_origins: holder.webOrigins,
      allowed_origins: holder.allowedOrigins,
      redirectUris: holder.callbacks,
    };
  };
}

const lost = 'may not have this token any more: the grant that it came from is gone, or what allowed it';

/** A machine must still be able to get this token (library/grants/client-credentials.ts). */
function grantOf(holder: Holder | undefined): string[] | undefined {
  if (!holder?.grantTypes.includes('client_credentials') || holder.tokenEndpointAuthMethod === 'none') return undefined;
  return holder.grants[0]?.scope;
}

/** The person's current permissions; undefined if they are blocked, or have withdrawn what they allowed the application. */
async function permissionsOf(
  { pool, permissions }: { pool: Pool; permissions: Pick<PermissionStore, 'of'> },
  payload: JWTPayload,
  audience: string,
): Promise<string[] | undefined> {
  const grant = await loadGrant(pool, String(payload[grantClaim]));
  const isLive = grant && grant.userId === payload.sub && !grant.blocked && grant.linkedTo === null;
  return isLive ? permissions.of(grant.userId, audience) : undefined;
}

type Holder = NonNullable<Awaited<ReturnType<ReturnType<typeof openHolders>['get']>>>;

function openKeys(db: Database, changes: Changes) {
  return makeCache({
    changes,
    tables: ['signing_keys'],
    maxAgeMs,
    load: () => loadLiveKeys(db),
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
          isFirstParty: true,
          webOrigins: true,
          allowedOrigins: true,
          callbacks: true,
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
