/**
 * `link_with`: the second account is named by one of our ID tokens, which proves that the caller has signed in to it. A token obtained
 * with only the first of two factors does not prove that.
 */
import { decodeProtectedHeader, type JWTPayload, errors as joseErrors, jwtVerify } from 'jose';
import { hasSecondFactor } from '../factors/types.ts';
import type { AccountModel } from '../generated/models.ts';
import { loadLiveKeys } from '../keys/live-keys.ts';
import type { Parts } from './parts.ts';
import { badBody, ManagementProblem } from './problem.ts';

/** @throws ManagementProblem 400 if it is not a currently valid ID token of ours, 403 if it lacks the second factor */
export async function accountOfIdToken(parts: Parts, token: string): Promise<AccountModel> {
  const claims = await verify(parts, token);
  const client = typeof claims.aud === 'string' ? await parts.clients.find(claims.aud) : undefined;
  const account = client && (await parts.accounts.find(claims.sub!));
  const since = account?.sessionsNotBefore?.getTime() ?? 0;
  // An account created after the token is a different one with a reused id. The token has whole seconds.
  const isAnothers = account && claims.iat! < Math.floor(account.createdAt.getTime() / 1_000);
  if (!account || account.blocked || isAnothers || claims.iat! * 1_000 < since) throw unusable();
  const amr = Array.isArray(claims.amr) ? claims.amr : [];
  if (hasSecondFactor(account.factors) && !amr.includes('mfa'))
    throw new ManagementProblem(
      403,
      'mfa_required',
      'link_with: the account has a second factor, which this sign-in did not prove',
    );
  return account;
}

async function verify({ db, issuers }: Parts, token: string): Promise<JWTPayload> {
  const keys = await loadLiveKeys(db);
  try {
    const requiredClaims = ['sub', 'aud', 'iat', 'exp'];
    const { payload } = await jwtVerify(token, keys, { issuer: issuers, requiredClaims });
    const { typ = 'JWT' } = decodeProtectedHeader(token);
    // Access tokens and logout tokens are also signed by us, but do not prove a sign-in.
    const isOther = typ !== 'JWT' || ['scope', 'events', 'gty', 'client_id'].some((name) => name in payload);
    if (isOther) throw unusable();
    return payload;
  } catch (error) {
    throw error instanceof joseErrors.JOSEError ? unusable() : error;
  }
}

const unusable = () => badBody('link_with is not a currently valid ID token of this server');
