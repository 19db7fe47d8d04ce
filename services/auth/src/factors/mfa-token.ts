/**
 * Auth0’s MFA API, first part (https://auth0.com/docs/secure/multi-factor-authentication/authenticate-using-ropg-flow-with-mfa): a token
 * request of a person who needs a second factor is answered with `mfa_required` and an `mfa_token`. The token stands for what was proven
 * and requested, belongs to the client alone, lives a quarter of an hour, and yields tokens once.
 */
import { randomBytes } from 'node:crypto';
import { type Client, errors, type KoaContextWithOIDC, type Provider } from 'oidc-provider';
import { type AccountStore, isUnchanged, stateOf } from '../accounts/store.ts';
import type { AccountModel } from '../generated/models.ts';
import { audienceOf, requestedAudience } from '../resources/audience.ts';
import { isMfaApi } from '../resources/mfa-api.ts';
import type { ResourceStore } from '../resources/store.ts';
import type { SettingsStore } from '../settings/store.ts';
import type { FactorEvents } from './events.ts';
import type { Pending, PendingStore } from './pending.ts';
import { hasFirstFactor } from './policy.ts';
import { dueOf } from './second-factor.ts';
import { hasSecondFactor, type MethodType, mfaSettingsOf } from './types.ts';

/** What a refresh token grants; a second factor yields no more than that. */
export type RefreshedGrant = {
  scope: string;
  audience: string | undefined;
  grantId: string;
  /** When its login happened, in epoch seconds. */
  authTime: number;
};

/** @throws MfaRequired; SecondFactorImpossible where nobody is present who could set one up */
export type RequireSecondFactor = (
  ctx: KoaContextWithOIDC,
  proven: {
    client: Client;
    account: AccountModel;
    amr: string[];
    ip: string;
    /** An action requires it, whatever the policy is. */
    isDemanded?: boolean;
    /** The request uses a refresh token. */
    refreshed?: RefreshedGrant;
  },
) => Promise<void>;

/** Auth0 answers with 403. */
class MfaRequired extends errors.OIDCProviderError {
  readonly mfaToken: string;
  readonly requirements: object;
  constructor(mfaToken: string, requirements: object) {
    super(403, 'mfa_required');
    this.error_description = 'Multifactor authentication required';
    this.expose = true;
    this.mfaToken = mfaToken;
    this.requirements = requirements;
  }
}

/** A second factor is needed where nobody can be asked for one: Auth0’s error, without an `mfa_token`. */
export class SecondFactorImpossible extends errors.CustomOIDCProviderError {
  constructor() {
    super('mfa_required', 'Multifactor authentication required');
    this.statusCode = this.status = 403;
  }
}

/** Whether it is an access token for the MFA API (access.ts); an `mfa_token` is no JWT. */
export const isAccessToken = (token: string): boolean => /^[\w-]+\.[\w-]+\.[\w-]+$/.test(token);

export const mfaOwner = (token: string) => `mfa token ${token}`;

export function makeRequireSecondFactor(parts: {
  settings: SettingsStore;
  pending: PendingStore;
  factorEvents: FactorEvents;
  resources: Pick<ResourceStore, 'find'>;
}): RequireSecondFactor {
  const apiOf = ({ resource }: Record<string, unknown>, audience: string | undefined) =>
    parts.resources.find(audience ?? audienceOf(typeof resource === 'string' ? resource : ''));
  return async (ctx, { client, account, amr, ip, isDemanded = false, refreshed }) => {
    const settings = await parts.settings.load();
    const params = (ctx.oidc.params ?? {}) as Record<string, unknown>;
    const audience = requestedAudience(ctx);
    // Changing factors takes a second factor from anybody who has one, even where the policy does not.
    const isForFactors = hasSecondFactor(account.factors) && isMfaApi(await apiOf(params, audience));
    const byAction = isDemanded || isForFactors ? { allowRememberBrowser: false } : undefined;
    const due = dueOf({ settings, client, factors: account.factors, params, amr, byAction });
    if (due.kind === 'none') return;
    // A first factor requires a fresh login: somebody who has found a refresh token must not set one up.
    if (refreshed && due.kind === 'enrolment') throw new SecondFactorImpossible();
    const { clientId } = client;
    parts.factorEvents.asked({ userId: account.userId, clientId, ip });
    const token = randomBytes(32).toString('base64url');
    const pending: Pending = {
      account: stateOf(account),
      amr,
      at: refreshed?.authTime ?? Math.floor(Date.now() / 1000),
      due: due.kind,
      types: due.types,
      isStepUp: false,
      isReported: true,
      request: refreshed
        ? requestOf(clientId, refreshed)
        : {
            clientId,
            ...(typeof params.scope === 'string' && { scope: params.scope }),
            ...(audience !== undefined && { audience }),
            ...(typeof params.resource === 'string' && { resource: params.resource }),
          },
    };
    await parts.pending.save(mfaOwner(token), pending);
    const types = due.types.flatMap((type) => apiTypeOf[type] ?? []).map((type) => ({ type }));
    throw new MfaRequired(token, due.kind === 'challenge' ? { challenge: types } : { enroll: types });
  };
}

const requestOf = (clientId: string, { scope, audience, grantId }: RefreshedGrant) => ({
  clientId,
  scope,
  grantId,
  ...(audience !== undefined && { audience }),
});

/** Auth0’s names here; methods that need a browser are missing. */
export const apiTypeOf: Partial<Record<MethodType, string>> = { totp: 'otp', phone: 'phone', email: 'email' };

/** Adds the fields that the library’s errors cannot carry. */
export function addMfaTokenToErrors(provider: Provider): void {
  provider.on('grant.error', (ctx, error) => {
    if (!(error instanceof MfaRequired)) return;
    ctx.body = { ...(ctx.body as object), mfa_token: error.mfaToken, mfa_requirements: error.requirements };
  });
}

/**
 * What the token stands for, if it is this client’s and the account is unchanged. A token for setting up a first factor ends once there is
 * one: the factor may have been set up by somebody else with the password.
 */
export async function pendingOfToken(
  parts: { pending: PendingStore; accounts: Pick<AccountStore, 'find'>; settings: SettingsStore },
  token: string | undefined,
  clientId?: string,
): Promise<(Pending & { request: NonNullable<Pending['request']> }) | undefined> {
  // What was begun with an access token counts only as long as that token (access.ts).
  const found = token && !isAccessToken(token) ? await parts.pending.find(mfaOwner(token)) : undefined;
  if (!found?.request || (clientId !== undefined && found.request.clientId !== clientId)) return undefined;
  const [account, settings] = await Promise.all([parts.accounts.find(found.account.userId), parts.settings.load()]);
  if (!isUnchanged(account, found.account)) return undefined;
  if (found.due === 'enrolment' && hasFirstFactor(mfaSettingsOf(settings), found, account.factors)) return undefined;
  return { ...found, request: found.request };
}
