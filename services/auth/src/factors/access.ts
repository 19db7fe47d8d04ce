/**
 * What a person's access token for the MFA API allows: setting up and removing factors, as an `mfa_token` does, while its login is fresh and, if the
 * person has a second factor, that was proven too. Refresh tokens make no login fresher, so their access tokens do not count for long.
 */
import { type AccountStore, isUnchanged, stateOf } from '../accounts/store.ts';
import { loadGrant } from '../adapter/known-grants.ts';
import { grantClaim } from '../claims.ts';
import type { Pool } from '../database.ts';
import type { makeVerifier, RevokedTokens } from '../library/tokens/structured.ts';
import type { MfaScope } from '../resources/mfa-api.ts';
import { mfaOwner } from './mfa-token.ts';
import type { Pending, PendingStore } from './pending.ts';
import { isMultiFactor } from './policy.ts';
import { hasSecondFactor } from './types.ts';

export type AccessParts = {
  /** The MFA API's audiences. */
  mfaAudiences: ReadonlySet<string>;
  verify: ReturnType<typeof makeVerifier>;
  revokedTokens: Pick<RevokedTokens, 'has'>;
  pool: Pool;
  pending: PendingStore;
  accounts: Pick<AccountStore, 'find'>;
};

export type Access = Pending & { request: NonNullable<Pending['request']>; scopes: ReadonlySet<MfaScope> };

/** `proven` where it may change factors, else `challenge`. @returns undefined if it is not a currently valid token for this API */
export async function accessOf(parts: AccessParts, token: string, clientId?: string): Promise<Access | undefined> {
  const payload = await parts.verify(token);
  const audience = [payload?.aud ?? []].flat().find((name) => parts.mfaAudiences.has(name));
  // A token bound to a key is no bearer token.
  if (!payload || audience === undefined || payload.cnf !== undefined) return undefined;
  if (clientId !== undefined && payload.client_id !== clientId) return undefined;
  const grantId = payload[grantClaim];
  if (typeof grantId !== 'string' || (await parts.revokedTokens.has(payload.jti!))) return undefined;
  const [grant, account, kept] = await Promise.all([
    loadGrant(parts.pool, grantId),
    parts.accounts.find(payload.sub!),
    parts.pending.find(mfaOwner(token)),
  ]);
  if (!account || grant?.userId !== account.userId || account.blocked || account.linkedTo !== null) return undefined;
  const amr = Array.isArray(payload.amr) ? payload.amr.map(String) : [];
  const isProven = isMultiFactor(amr) || !hasSecondFactor(account.factors);
  const scope = String(payload.scope ?? '');
  return {
    account: stateOf(account),
    amr,
    at: Number(payload.auth_time ?? 0),
    due: isProven ? 'proven' : 'challenge',
    types: [],
    isStepUp: false,
    isReported: true,
    request: { clientId: String(payload.client_id), scope, audience },
    scopes: new Set(scope.split(' ') as MfaScope[]),
    ...(kept && { sealed: kept.sealed }),
    // What was begun with the token, unless the account has changed since.
    ...(kept && isUnchanged(account, kept.account) && enrollingPart(kept)),
  };
}

function enrollingPart({ enrolling, sentTo, oobCode }: Pending): Partial<Pending> {
  return {
    ...(enrolling && { enrolling }),
    ...(sentTo && { sentTo }),
    ...(oobCode !== undefined && { oobCode }),
  };
}
