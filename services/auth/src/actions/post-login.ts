/**
 * The trigger post-login, where Auth0 has it: once in an authorization request, after the login and before a second factor that it asks for and
 * the consent; and at each token request that no such request has gone before: of a refresh token, a password, an exchange. What a request for a
 * code has decided goes with the code.
 */
import { type Client, errors, interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider';
import { endSessionAndTokens } from '../accounts/end-access.ts';
import type { AccountStore } from '../accounts/store.ts';
import type { Sessions, StoredSession } from '../adapter/sessions.ts';
import type { Audit } from '../audit.ts';
import { type Refreshed, type RequireSecondFactor, SecondFactorImpossible } from '../factors/mfa-token.ts';
import { hasSecondFactors, isMultiFactor } from '../factors/policy.ts';
import { mfaSettingsOf } from '../factors/types.ts';
import { addressOf } from '../http/head.ts';
import { revokeGrant } from '../library/seam.ts';
import { rolesToCome } from '../organizations/admission.ts';
import { organizationOf } from '../organizations/of-grant.ts';
import { audienceOf } from '../resources/audience.ts';
import type { SettingsStore } from '../settings/store.ts';
import { type EventParts, postLoginEvent } from './event.ts';
import type { Outcome } from './outcome.ts';
import { keepOutcome, outcomeBefore, outcomeNow, pauseBefore, pauseNow, setOutcome, setPause } from './outcomes.ts';
import type { Answer, Pauses } from './pauses.ts';
import { findPerson, type PersonForActions } from './person.ts';
import { checkAllowed, DeniedByAction, redirectRequired, told } from './refusal.ts';
import type { ActionRunner, Way } from './runner.ts';

export type PostLogin = {
  /** Whether anything would run. */
  isBound(): Promise<boolean>;
  /** In an authorization request of somebody who is signed in. @returns whether an action sends them elsewhere first. @throws what refuses it */
  atAuthorization(ctx: KoaContextWithOIDC): Promise<{ isPaused: boolean }>;
  /** Of a refresh token that is good. @throws what refuses it, also with `mfa_required` */
  atRefresh(ctx: KoaContextWithOIDC, requireSecondFactor: RequireSecondFactor): Promise<void>;
  /** For somebody whom a grant has identified. @throws what refuses it, also with `mfa_required` */
  atGrant(ctx: KoaContextWithOIDC, proven: Proven, requireSecondFactor?: RequireSecondFactor): Promise<void>;
};

type Proven = {
  accountId: string;
  amr: string[] | undefined;
  authTime?: number;
  protocol: string;
  organization?: string;
  /** Whether it goes by one. */
  hasSession?: boolean;
};

export type PostLoginParts = EventParts & {
  runner: ActionRunner;
  pauses: Pick<Pauses, 'begin' | 'resume'>;
  accounts: Pick<AccountStore, 'find' | 'update'>;
  settings: SettingsStore;
  sessions: Sessions;
  audit: Pick<Audit, 'add'>;
};

const trigger = 'post-login';

export function makePostLogin(parts: PostLoginParts): PostLogin {
  const { runner, settings } = parts;
  return {
    isBound: () => runner.isBound(trigger),
    async atAuthorization(ctx) {
      const { session, account } = ctx.oidc;
      if (!session?.accountId || !account || outcomeNow(ctx)) return { isPaused: pauseNow(ctx) !== undefined };
      const from = await continuedFrom(parts, ctx, account.accountId);
      // Whoever comes back is waited for, whatever was unbound meanwhile.
      if (!from && !(await runner.isBound(trigger))) return { isPaused: false };
      const before = outcomeBefore(ctx, account.accountId);
      if (before) {
        keepOutcome(ctx, before);
        limitSession(ctx, before);
        return { isPaused: false };
      }
      const proven = provenBy(ctx, session, account.accountId);
      const outcome = await run(parts, ctx, proven, { canRedirect: true, ...(from && { from }) });
      if (outcome?.secondFactor && !isMultiFactor(proven.amr)) await checkSecondFactors();
      return { isPaused: pauseNow(ctx) !== undefined };
    },
    async atRefresh(ctx, requireSecondFactor) {
      if (!(await runner.isBound(trigger))) return;
      // Kept with it (library/tokens); the typings leave it out.
      const { accountId, amr, authTime } = ctx.oidc.entities.RefreshToken as unknown as Proven;
      const organization = organizationOf(ctx);
      const protocol = 'oauth2-refresh-token';
      const proven = { accountId, amr, protocol, ...(authTime && { authTime }), ...(organization && { organization }) };
      const outcome = await run(parts, ctx, proven);
      if (outcome?.secondFactor) await require(ctx, proven, requireSecondFactor, refreshedBy(ctx, organization));
    },
    async atGrant(ctx, proven, requireSecondFactor) {
      if (!(await runner.isBound(trigger))) return;
      const outcome = await run(parts, ctx, proven);
      if (outcome?.secondFactor) await require(ctx, proven, requireSecondFactor);
    },
  };

  /** @param refreshed undefined: it goes by no refresh token; `impossible`: none of what would come of it is like the refresh token's */
  async function require(
    ctx: KoaContextWithOIDC,
    { accountId, amr = [] }: Pick<Proven, 'accountId' | 'amr'>,
    requireSecondFactor: RequireSecondFactor | undefined,
    refreshed?: Refreshed | 'impossible',
  ): Promise<void> {
    if (isMultiFactor(amr)) return;
    if (!requireSecondFactor || refreshed === 'impossible') throw new SecondFactorImpossible();
    await checkSecondFactors();
    const account = (await parts.accounts.find(accountId))!;
    const asked = { client: ctx.oidc.client!, account, amr, ip: addressOf(ctx.req), isDemanded: true };
    await requireSecondFactor(ctx, { ...asked, ...(refreshed && { refreshed }) });
  }

  /** An action wants a second factor, and nobody could have one: then nobody gets in without. */
  async function checkSecondFactors(): Promise<void> {
    if (!hasSecondFactors(mfaSettingsOf(await settings.load())))
      throw new DeniedByAction('A second factor is required, and none is switched on.');
  }
}

type RefreshToken = {
  scopes: Set<string>;
  resource?: string | string[];
  grantId: string;
  authTime?: number;
  jkt?: string;
  'x5t#S256'?: string;
};

/** Grants of a second factor know no organization, and bind no token to a key that they have not seen. */
function refreshedBy(ctx: KoaContextWithOIDC, organization: string | undefined): Refreshed | 'impossible' {
  // The typings leave out what it keeps.
  const token = ctx.oidc.entities.RefreshToken as unknown as RefreshToken;
  const isBound = token.jkt !== undefined || token['x5t#S256'] !== undefined;
  if (organization !== undefined || isBound || token.authTime === undefined) return 'impossible';
  const { resource = token.resource } = (ctx.oidc.params ?? {}) as { resource?: string | string[] };
  const [name] = [resource ?? []].flat();
  const asked = [...ctx.oidc.requestParamScopes].filter((scope) => token.scopes.has(scope));
  return {
    scope: (asked.length > 0 ? asked : [...token.scopes]).join(' '),
    audience: name === undefined ? undefined : audienceOf(name),
    grantId: token.grantId,
    authTime: token.authTime,
  };
}

/** Where somebody comes back to. Undefined for who does not. @throws SessionNotFound for who does so a second time */
async function continuedFrom(
  { pauses }: PostLoginParts,
  ctx: KoaContextWithOIDC,
  accountId: string,
): Promise<Way['from']> {
  const id = pauseBefore(ctx);
  const { continued } = (ctx.oidc.result ?? {}) as Continued;
  if (id === undefined || continued === undefined || outcomeBefore(ctx, accountId)) return undefined;
  const resumed = await pauses.resume(id, continued);
  if (!resumed || resumed.pause.accountId !== accountId)
    throw new errors.SessionNotFound('the sign-in was continued before, or belongs to somebody else');
  return { ...resumed.pause, request: requestOf(resumed.answer) };
}

/** What the interaction’s page hands on (../interaction/continue.ts): the name of the answer. */
export type Continued = { continued?: string };

const requestOf = ({ method, query, body }: Answer) => ({ method, query, body });

/** @throws what refuses the request. What is to be written is written. @returns undefined where nothing was decided yet */
async function run(
  parts: PostLoginParts,
  ctx: KoaContextWithOIDC,
  proven: Proven,
  way: Way = {},
): Promise<Outcome | undefined> {
  const { runner, pool } = parts;
  const { organization, authTime, hasSession = false } = proven;
  const account = await findPerson(pool, proven.accountId, organization, await rolesToCome(ctx));
  if (!account) return undefined; // what follows finds nobody either
  const { clientId } = ctx.oidc.client as Client;
  const about = { clientId, userId: account.userId, ip: addressOf(ctx.req) };
  const makeEvent = () => postLoginEvent(parts, ctx, { ...proven, account, organization, authTime, hasSession });
  const ran = await told(runner.run(trigger, about, makeEvent, way));
  if (!ran) return undefined;
  const { outcome, paused } = ran;
  if (outcome.revoked) await revoke(parts, ctx, outcome.revoked, hasSession);
  checkAllowed(outcome);
  await writeMetadata(parts, account, outcome);
  if (paused) {
    // The library would say the same, but the pause would lie there for an hour.
    if (ctx.oidc.prompts.has('none')) throw new errors.InteractionRequired(redirectRequired);
    // They are written, and may be changed by others until the person is back.
    const kept = { ...paused, outcome: { ...outcome, userMetadata: {}, appMetadata: {} } };
    setPause(ctx, await parts.pauses.begin({ ...kept, accountId: account.userId }));
    return undefined;
  }
  if (hasSession) limitSession(ctx, outcome);
  setOutcome(ctx, account.userId, outcome);
  return outcome;
}

/** It can only end sooner. */
function limitSession(ctx: KoaContextWithOIDC, { sessionEndsAt }: Pick<Outcome, 'sessionEndsAt'>): void {
  if (sessionEndsAt !== undefined) (ctx.oidc.session as { endsAt?: number }).endsAt = sessionEndsAt;
}

/** At once, whatever the application does with the refusal. */
async function revoke(
  { sessions, pool, audit }: PostLoginParts,
  ctx: KoaContextWithOIDC,
  { what, preserveRefreshTokens }: NonNullable<Outcome['revoked']>,
  hasSession: boolean,
): Promise<void> {
  const { client, entities } = ctx.oidc;
  if (what === 'refreshToken') {
    const { grantId } = entities.RefreshToken ?? {};
    if (grantId) await revokeGrant(ctx, grantId);
    return;
  }
  if (!hasSession) return;
  const session = ctx.oidc.session as unknown as StoredSession; // the typings leave out what it keeps
  const { uid, accountId } = session;
  if (preserveRefreshTokens) await sessions.end(uid);
  else await endSessionAndTokens({ sessions, pool }, session);
  audit.add({ type: 'session_revoked', clientId: client?.clientId, userId: accountId, details: { session_id: uid } });
}

async function writeMetadata(
  { accounts }: PostLoginParts,
  { userId }: PersonForActions,
  { userMetadata: user, appMetadata: app }: Outcome,
): Promise<void> {
  if (Object.keys(user).length + Object.keys(app).length > 0) await accounts.update(userId, {}, { user, app });
}

/** What a session proves to an authorization request. */
function provenBy(
  { oidc: { params, deviceCode } }: KoaContextWithOIDC,
  session: NonNullable<KoaContextWithOIDC['oidc']['session']>,
  accountId: string,
): Proven {
  const { amr } = session as { amr?: string[] };
  const { organization } = (params ?? {}) as { organization?: string };
  const authTime = session.authTime();
  return {
    accountId,
    amr,
    protocol: deviceCode === undefined ? protocolOf(params?.response_type) : 'oauth2-device-code',
    hasSession: true,
    ...(authTime && { authTime }),
    ...(organization && { organization }),
  };
}

/** In Auth0’s words. */
function protocolOf(responseType: unknown): string {
  return responseType === 'code'
    ? 'oidc-basic-profile'
    : String(responseType).includes('code')
      ? 'oidc-hybrid-profile'
      : 'oidc-implicit-profile';
}

const { Check, Prompt } = interactionPolicy;

/** Where the library asks, after a login, what is still missing. No page of ours is shown for it: an action may send the browser elsewhere. */
export function postLoginPrompt(postLogin: PostLogin) {
  return new Prompt(
    { name: 'actions', requestable: false },
    new Check('post_login', redirectRequired, 'interaction_required', async (ctx) =>
      (await postLogin.atAuthorization(ctx)).isPaused ? Check.REQUEST_PROMPT : Check.NO_NEED_TO_PROMPT,
    ),
  );
}
