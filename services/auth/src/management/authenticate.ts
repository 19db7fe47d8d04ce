/** Who calls the management API: an application with an access token of ours for `api/v2/` (contract section 4). */
import { createLocalJWKSet, type JSONWebKeySet, errors as joseErrors, jwtVerify } from 'jose';
import { makeCache } from '../cache.ts';
import type { Changes } from '../changes.ts';
import type { ClientStore } from '../clients/store.ts';
import type { Database } from '../database.ts';
import { ManagementProblem } from './problem.ts';

export type Caller = {
  clientId: string;
  scopes: Set<string>;
  /** Whose pages may read the answer. */
  web_origins: string[];
  allowed_origins: string[];
};
/** @throws ManagementProblem 401 */
export type Authenticate = (authorization: string | undefined) => Promise<Caller>;

export function makeAuthenticate(parts: {
  issuer: string;
  db: Database;
  changes: Changes;
  clients: ClientStore;
}): Authenticate {
  const { issuer, db, changes, clients } = parts;
  const audience = `${issuer}api/v2/`;
  const keys = makeCache({
    changes,
    tables: ['signing_keys'],
    load: async () => {
      const rows = await db.signingKey.findMany({
        where: { revokedAt: null, OR: [{ retiresAt: null }, { retiresAt: { gt: new Date() } }] },
      });
      return createLocalJWKSet({ keys: rows.map((row) => row.publicJwk) } as unknown as JSONWebKeySet);
    },
  });

  return async (authorization) => {
    if (authorization === undefined) throw refused('Missing authentication');
    const token = /^Bearer ([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(authorization)?.[1];
    if (token === undefined) throw refused('Bad HTTP authentication header format');
    const { payload } = await jwtVerify(token, await keys.get('all'), {
      issuer,
      audience,
      typ: 'at+jwt',
      requiredClaims: ['exp', 'client_id'],
    }).catch((cause: unknown) => {
      throw cause instanceof joseErrors.JOSEError ? refused(reasonOf(cause), cause) : cause;
    });
    const clientId = String(payload.client_id);
    // A token bound to a key (RFC 9449) is no bearer token; and a client that is gone takes its tokens along.
    const client = payload.cnf === undefined ? await clients.find(clientId) : undefined;
    if (!client) throw refused('Invalid token');
    return {
      clientId,
      scopes: new Set(String(payload.scope ?? '').split(' ')),
      web_origins: client.webOrigins,
      allowed_origins: client.allowedOrigins,
    };
  };
}

function reasonOf(error: joseErrors.JOSEError): string {
  if (error instanceof joseErrors.JWTExpired) return 'Expired token received for JSON Web Token validation';
  if (error instanceof joseErrors.JWTClaimValidationFailed && error.claim === 'aud') return 'Bad audience';
  return 'Invalid token';
}

function refused(message: string, cause?: unknown): ManagementProblem {
  return new ManagementProblem(401, 'invalid_token', message, { cause });
}
