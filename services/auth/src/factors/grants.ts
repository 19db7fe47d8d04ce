/** Auth0’s MFA API, last part: the grant types that exchange an `mfa_token` and a second factor for tokens. */
import { type Client, errors, type KoaContextWithOIDC } from 'oidc-provider';
import type { AccountStore } from '../accounts/store.ts';
import { loadGrant } from '../adapter/known-grants.ts';
import { personAddress } from '../clients/person-address.ts';
import type { GrantPlugin, Subject } from '../grants/plugin.ts';
import type { Report } from '../report.ts';
import type { SettingsStore } from '../settings/store.ts';
import { tooManyAttempts } from '../stores-away.ts';
import { type AccessParts, accessOf } from './access.ts';
import { isFresh } from './fresh.ts';
import { isAccessToken, mfaOwner, pendingOfToken } from './mfa-token.ts';
import type { FactorParts } from './parts.ts';
import type { Pending } from './pending.ts';
import { multiFactorAcr } from './policy.ts';
import type { Proof } from './proof.ts';
import { stepOf } from './totp.ts';
import { mfaSettingsOf } from './types.ts';

type Parts = FactorParts & AccessParts & { report: Report; accounts: AccountStore; settings: SettingsStore };
type Params = Record<string, string | undefined>;

const prefix = 'http://auth0.com/oauth/grant-type/';

export function mfaGrants(parts: Parts): GrantPlugin[] {
  return [
    grant(parts, 'mfa-otp', ['otp'], 'Invalid otp_code.', (pending, params) => proveOtp(parts, pending, params)),
    grant(parts, 'mfa-oob', ['oob_code', 'binding_code'], 'Invalid binding_code.', (pending, params) =>
      proveOob(parts, pending, params),
    ),
    grant(parts, 'mfa-recovery-code', ['recovery_code'], 'Invalid recovery_code.', async (pending, params) =>
      pending.due === 'challenge' && mfaSettingsOf(await parts.settings.load()).factors['recovery-code']
        ? parts.prove.recoveryCode(pending.account.userId, params.recovery_code!)
        : { kind: 'wrong' },
    ),
  ];
}

/** @param own the request’s own parameters, all of them required */
function grant(
  parts: Parts,
  name: string,
  own: string[],
  refusal: string,
  prove: (pending: Pending, params: Params) => Promise<Proof>,
): GrantPlugin {
  const factor = name.slice('mfa-'.length);
  return {
    grantType: prefix + name,
    parameters: ['mfa_token', ...own],
    async prepare(ctx, client) {
      const { request } = await pendingFor(parts, ctx, client);
      Object.assign(ctx.oidc.params as object, {
        scope: request.scope,
        audience: request.audience,
        resource: request.resource,
      });
    },
    async authenticate(ctx, client) {
      const params = ctx.oidc.params as Params;
      const missing = own.filter((parameter) => !params[parameter]);
      if (missing.length > 0) throw new errors.InvalidRequest(`missing required parameter(s) ${missing.join(', ')}`);
      const pending = await pendingFor(parts, ctx, client);
      const isAuthenticated = client.clientAuthMethod !== 'none';
      const ip = personAddress(ctx.req, { client, isAuthenticated, report: parts.report });
      const event = { userId: pending.account.userId, clientId: client.clientId, ip };
      const proof = await prove(pending, params);
      switch (proof.kind) {
        case 'right':
          if (pending.due !== 'challenge') await noteEnrolment(parts, pending, event, factor);
          parts.factorEvents.succeeded(event, factor);
          return spendMfaToken(parts, params.mfa_token!, pending, { amr: proof.amr, ip });
        case 'locked':
          parts.factorEvents.locked(event, factor);
          throw tooManyAttempts(proof.seconds).withHeader(ctx);
        case 'wrong':
        case 'used':
        case 'expired':
          parts.factorEvents.failed(event, factor, proof.kind);
          throw described(new errors.InvalidGrant(`second factor ${proof.kind}`), wordsOf(refusal, proof.kind));
      }
    },
  };
}

/** The recovery codes shown earlier become valid now: until a factor is confirmed, a password alone must not yield any. */
async function noteEnrolment(
  { factors, factorEvents, accounts, notifyOfChange }: Parts,
  { account: { userId }, enrolling }: Pending,
  event: Parameters<Parts['factorEvents']['enrolled']>[0],
  factor: string,
): Promise<void> {
  if (enrolling?.recoveryCodes) await factors.makeRecoveryCodes(userId, enrolling.recoveryCodes);
  factorEvents.enrolled(event, factor);
  const account = await accounts.find(userId);
  if (account && enrolling) notifyOfChange({ name: 'factor_added', factor: enrolling.type }, account, { ip: event.ip });
}

function wordsOf(refusal: string, kind: 'wrong' | 'used' | 'expired'): string {
  if (kind === 'used') return `${refusal} It was used already: wait for the next one.`;
  return kind === 'expired' ? `${refusal} No code is waiting: ask for one at mfa/challenge.` : refusal;
}

async function pendingFor(parts: Parts, { oidc }: KoaContextWithOIDC, client: Client) {
  const { mfa_token: token } = oidc.params as Params;
  if (!token) throw new errors.InvalidRequest('missing required parameter(s) mfa_token');
  const pending = isAccessToken(token)
    ? await enrolmentOf(parts, token, client)
    : await pendingOfToken(parts, token, client.clientId);
  const isSpent = pending?.due === 'proven' && !pending.enrolling;
  if (pending && !isSpent && (await isStillGranted(parts, pending))) return pending;
  const error = new errors.InvalidGrant(isSpent ? 'spent mfa_token' : 'unknown mfa_token');
  throw described(
    error,
    isSpent ? 'mfa_token was used already' : 'mfa_token is malformed, expired or another client’s',
  );
}

/** Whether the refresh token's grant still exists: access removed while the second factor was being proven is not given again. */
async function isStillGranted({ pool }: Parts, { account, request }: Pending): Promise<boolean> {
  const { grantId } = request ?? {};
  return grantId === undefined || (await loadGrant(pool, grantId))?.userId === account.userId;
}

/** An access token for the MFA API replaces an `mfa_token` when it confirms what was begun with it. */
async function enrolmentOf(parts: Parts, token: string, client: Client) {
  const access = await accessOf(parts, token, client.clientId);
  const isOpen = access?.due === 'proven' && access.enrolling && access.scopes.has('enroll') && isFresh(access.at);
  return isOpen ? access : undefined;
}

/** The token yields tokens once, even if several codes are being checked for it. Anything asked of it afterwards needs another second factor. */
async function spendMfaToken(
  parts: Parts,
  token: string,
  pending: Pending,
  { amr, ip }: { amr: string[]; ip: string },
): Promise<Subject> {
  const { enrolling: _, sentTo: __, oobCode: ___, ...rest } = pending;
  // One that came of a refresh token is not kept for anything else either: changing factors takes a fresh login.
  const isRefreshed = pending.request?.grantId !== undefined;
  const isSpent = await (isRefreshed || isAccessToken(token)
    ? parts.pending.takeSame(mfaOwner(token), pending)
    : parts.pending.replace(mfaOwner(token), pending, { ...rest, due: 'proven' }));
  if (!isSpent) throw described(new errors.InvalidGrant('spent mfa_token'), 'mfa_token was used already');
  return {
    accountId: pending.account.userId,
    amr: [...new Set([...pending.amr, ...amr])],
    acr: multiFactorAcr,
    authTime: pending.at,
    // What comes of a refresh token, or confirms another factor after the login, is none.
    ...(!isRefreshed && pending.due !== 'proven' && { loggedInFrom: ip }),
  };
}

/** A code from an app that the person has, or from the one being set up. */
async function proveOtp({ factors, prove }: Parts, pending: Pending, { otp = '' }: Params): Promise<Proof> {
  const { account, enrolling } = pending;
  const { userId } = account;
  if (pending.due === 'challenge') return prove.totp(userId, await factors.listOf(account, pending.types), otp);
  if (enrolling?.type !== 'totp' || !enrolling.secret) return { kind: 'wrong' };
  const { secret } = enrolling;
  return prove.bounded(userId, async () => {
    const step = stepOf(secret, otp);
    const isKept = step !== undefined && (await factors.add({ userId, type: 'totp', secret, step }, account));
    if (!isKept) return { kind: 'wrong' };
    return { kind: 'right', amr: ['otp', 'mfa'] };
  });
}

/** A code that was sent to a method the person has, or to the one being set up. */
async function proveOob({ factors, prove }: Parts, pending: Pending, params: Params): Promise<Proof> {
  const { account, sentTo, oobCode, enrolling } = pending;
  const { userId } = account;
  if (!sentTo || !oobCode || params.oob_code !== oobCode) return { kind: 'expired' };
  if (pending.due === 'challenge') {
    const methods = await factors.listOf(account, [sentTo.type]);
    if (!methods.some(({ target }) => target === sentTo.target)) return { kind: 'expired' };
  }
  const proof = await prove.sent(userId, sentTo, mfaOwner(params.mfa_token!), params.binding_code!);
  if (proof.kind !== 'right' || pending.due === 'challenge') return proof;
  if (enrolling?.type !== sentTo.type || !(await factors.add({ userId, ...sentTo }, account))) return { kind: 'wrong' };
  return proof;
}

function described<E extends errors.OIDCProviderError>(error: E, description: string): E {
  error.error_description = description;
  return error;
}
