/**
 * The trigger post-login, as at Auth0: it runs once in an authorization request, after the login and before consent and any second factor that it
 * demands; and at each token request without such a request before it: for a refresh token, a password, an exchange. Decisions made in a request
 * for a code go with the code.
 */
import { type Client, errors, interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider';
import { endSessionAndTokens } from '../accounts/end-access.ts';
import type { LastLogins } from '../accounts/last-login.ts';
import type { AccountStore } from '../accounts/store.ts';
import type { Sessions, StoredSession } from '../adapter/sessions.ts';
import type { Audit } from '../audit.ts';
import type { Database } from '../database.ts';
import { type RefreshedGrant, type RequireSecondFactor, SecondFactorImpossible } from '../factors/mfa-token.ts';
import { isMultiFactor, offersSecondFactors } from '../factors/policy.ts';
import { mfaSettingsOf } from '../factors/types.ts';
import { addressOf } from '../http/head.ts';
import { revokeGrant } from '../library/seam.ts';
import { endAdmission } from '../library/sessions.ts';
import { rolesAfterJoining } from '../organizations/admission.ts';
import { organizationOf } from '../organizations/of-grant.ts';
import { audienceOf } from '../resources/audience.ts';
import type { SettingsStore } from '../settings/store.ts';
import { type EventParts, postLoginEvent } from './event.ts';
import type { Outcome } from './outcome.ts';
import { keepOutcome, outcomeBefore, outcomeNow, pauseBefore, pauseNow, setOutcome, setPause } from './outcomes.ts';
import type { Answer, Pauses } from './pauses.ts';
import { findPerson, type PersonForActions } from './person.ts';
import { checkAllowed, DeniedByAction, isReported, redirectRequired, withPublicErrors } from './refusal.ts';
import type { ActionRunner, RunOptions } from './runner.ts';

export type PostLogin = {
  /** Whether any action would run. */
  isBound(): Promise<boolean>;
  /** For an authorization request of a signed-in person. @returns whether an action sends them elsewhere first. @throws the error that refuses it */
  atAuthorization(ctx: KoaContextWithOIDC): Promise<{ isPaused: boolean }>;
  /** For a valid refresh token. @throws the error that refuses it, including `mfa_required` */
  atRefresh(ctx: KoaContextWithOIDC, requireSecondFactor: RequireSecondFactor): Promise<void>;
  /** For a person identified by a grant. @throws the error that refuses it, including `mfa_required` */
  atGrant(ctx: KoaContextWithOIDC, proven: Proven, requireSecondFactor?: RequireSecondFactor): Promise<void>;
};

type Proven = {
  accountId: string;
  amr: string[] | undefined;
  authTime?: number;
  protocol: string;
  organization?: string;
  /** Whether a session is used. */
  hasSession?: boolean;
  /** Of a session: just before its login was noted, if known, in epoch milliseconds. */
  loggedInAt?: number;
  /** Of a grant that is a login: it is noted once it has succeeded (grants/person.ts). */
  loggedInFrom?: string;
};

export type PostLoginParts = EventParts & {
  runner: ActionRunner;
  pauses: Pick<Pauses, 'begin' | 'resume'>;
  accounts: Pick<AccountStore, 'find' | 'update'>;
  lastLogins: Pick<LastLogins, 'unwritten'>;
  settings: SettingsStore;
  sessions: Sessions;
  db: Database;
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
      // A person on the way back is still handled, even if the action was unbound meanwhile.
      if (!from && !(await runner.isBound(trigger))) return { isPaused: false };
      const before = outcomeBefore(ctx, account.accountId);
      if (before) {
        keepOutcome(ctx, before);
        limitSession(ctx, before);
        return { isPaused: false };
      }
      const proven = provenBy(ctx, session, account.accountId);
      try {
        const outcome = await run(parts, ctx, proven, { canRedirect: true, ...(from && { from }) });
        if (outcome?.secondFactor && !isMultiFactor(proven.amr)) await checkSecondFactors();
      } catch (error) {
        // Otherwise /account would stay open to them for a while.
        if (isReported(error)) endAdmission(session);
        throw error;
      }
      return { isPaused: pauseNow(ctx) !== undefined };
    },
    async atRefresh(ctx, requireSecondFactor) {
      if (!(await runner.isBound(trigger))) return;
      // Stored with the token (library/tokens); the typings leave these out.
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

  /** @param refreshed undefined: no refresh token is used; `impossible`: a second factor could not yield tokens like the refresh token's */
  async function require(
    ctx: KoaContextWithOIDC,
    { accountId, amr = [] }: Pick<Proven, 'accountId' | 'amr'>,
    requireSecondFactor: RequireSecondFactor | undefined,
    refreshed?: RefreshedGrant | 'impossible',
  ): Promise<void> {
    if (isMultiFactor(amr)) return;
    if (!requireSecondFactor || refreshed === 'impossible') throw new SecondFactorImpossible();
    await checkSecondFactors();
    const account = (await parts.accounts.find(accountId))!;
    const asked = { client: ctx.oidc.client!, account, amr, ip: addressOf(ctx.req), isDemanded: true };
    await requireSecondFactor(ctx, { ...asked, ...(refreshed && { refreshed }) });
  }

  /** If an action requires a second factor that nobody can have, nobody gets in. */
  async function checkSecondFactors(): Promise<void> {
    if (!offersSecondFactors(mfaSettingsOf(await settings.load())))
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

/** Second-factor grants know no organization, and cannot bind a token to a key they have not seen. */
function refreshedBy(ctx: KoaContextWithOIDC, organization: string | undefined): RefreshedGrant | 'impossible' {
  // The typings leave out what a token keeps.
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

/** Where the person returns to in the actions. Undefined if they are not returning. @throws SessionNotFound if they return a second time */
async function continuedFrom(
  { pauses }: PostLoginParts,
  ctx: KoaContextWithOIDC,
  accountId: string,
): Promise<RunOptions['from']> {
  const id = pauseBefore(ctx);
  const { continued } = (ctx.oidc.result ?? {}) as ContinuedResult;
  if (id === undefined || continued === undefined || outcomeBefore(ctx, accountId)) return undefined;
  const resumed = await pauses.resume(id, continued);
  if (!resumed || resumed.pause.accountId !== accountId)
    throw new errors.SessionNotFound('the sign-in was continued before, or belongs to somebody else');
  return { ...resumed.pause, request: requestOf(resumed.answer) };
}

/** Passed on by the interaction’s page (../interaction/continue.ts): the name of the answer. */
export type ContinuedResult = { continued?: string };

const requestOf = ({ method, query, body }: Answer) => ({ method, query, body });

/** Also writes metadata changes. @throws the error that refuses the request. @returns undefined if nothing is decided yet */
async function run(
  parts: PostLoginParts,
  ctx: KoaContextWithOIDC,
  proven: Proven,
  way: RunOptions = {},
): Promise<Outcome | undefined> {
  const { runner, pool } = parts;
  const { organization, authTime, hasSession = false } = proven;
  const unwritten = parts.lastLogins.unwritten(proven.accountId);
  const account = await findPerson(pool, proven.accountId, organization, await rolesAfterJoining(ctx));
  if (!account) return undefined; // the next steps find nobody either
  const { clientId } = ctx.oidc.client as Client;
  const about = { clientId, userId: account.userId, ip: addressOf(ctx.req) };
  const loginsCount = countLogins(account, proven, unwritten);
  const signIn = { ...proven, account, organization, authTime, hasSession, loginsCount };
  const makeEvent = () => postLoginEvent(parts, ctx, signIn);
  const ran = await withPublicErrors(runner.run(trigger, about, makeEvent, way));
  if (!ran) return undefined;
  const { outcome, paused } = ran;
  if (outcome.revoked) await revoke(parts, ctx, outcome.revoked, hasSession);
  // Also what a refusal leaves behind: at Auth0 `api.access.deny` cancels no change of metadata.
  await writeMetadata(parts, account, outcome);
  checkAllowed(outcome);
  if (paused) {
    // The library would answer the same, but the pause would stay stored for an hour.
    if (ctx.oidc.prompts.has('none')) throw new errors.InteractionRequired(redirectRequired);
    // Metadata is already written, and may be changed by others until the person is back.
    const kept = { ...paused, outcome: { ...outcome, userMetadata: {}, appMetadata: {} } };
    setPause(ctx, await parts.pauses.begin({ ...kept, accountId: account.userId }));
    return undefined;
  }
  if (hasSession) limitSession(ctx, outcome);
  setOutcome(ctx, account.userId, outcome);
  return outcome;
}

/**
 * As at Auth0 with the login that is going on (https://community.auth0.com/t/how-logins-count-attribute-works/91318), though logins are
 * written in the background.
 * @param unwritten from before the account was read: what was written meanwhile is not counted twice
 */
function countLogins({ loginsCount, lastLogin }: PersonForActions, proven: Proven, unwritten: Date[]): number {
  const written = lastLogin?.getTime() ?? 0;
  const others = unwritten.map((date) => date.getTime()).filter((at) => at > written);
  const { loggedInFrom, loggedInAt = 0 } = proven;
  // It may have been noted in another process.
  const isMissing = loggedInFrom !== undefined || loggedInAt > Math.max(written, ...others);
  return loginsCount + others.length + (isMissing ? 1 : 0);
}

/** A session can only be shortened. */
function limitSession(ctx: KoaContextWithOIDC, { sessionEndsAt }: Pick<Outcome, 'sessionEndsAt'>): void {
  if (sessionEndsAt !== undefined) (ctx.oidc.session as { endsAt?: number }).endsAt = sessionEndsAt;
}

/** Takes effect at once, whatever the application does with the refusal. */
async function revoke(
  { sessions, db, audit }: PostLoginParts,
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
  else await endSessionAndTokens({ sessions, db }, session);
  audit.add({ type: 'session_revoked', clientId: client?.clientId, userId: accountId, details: { session_id: uid } });
}

async function writeMetadata(
  { accounts }: PostLoginParts,
  { userId }: PersonForActions,
  { userMetadata: user, appMetadata: app }: Outcome,
): Promise<void> {
  if (Object.keys(user).length + Object.keys(app).length > 0) await accounts.update(userId, {}, { user, app });
}

/** What a session proves for an authorization request. */
function provenBy(
  { oidc: { params, deviceCode } }: KoaContextWithOIDC,
  session: NonNullable<KoaContextWithOIDC['oidc']['session']>,
  accountId: string,
): Proven {
  const { amr, loggedInAt } = session as { amr?: string[]; loggedInAt?: number };
  const { organization } = (params ?? {}) as { organization?: string };
  const authTime = session.authTime();
  return {
    accountId,
    amr,
    protocol: deviceCode === undefined ? protocolOf(params?.response_type) : 'oauth2-device-code',
    hasSession: true,
    ...(loggedInAt !== undefined && { loggedInAt }),
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

/** After a login, the library asks prompts what is still missing. This one shows no page of ours: an action may send the browser elsewhere. */
export function postLoginPrompt(postLogin: PostLogin) {
  return new Prompt(
    { name: 'actions', requestable: false },
    new Check('post_login', redirectRequired, 'interaction_required', async (ctx) =>
      (await postLogin.atAuthorization(ctx)).isPaused ? Check.REQUEST_PROMPT : Check.NO_NEED_TO_PROMPT,
    ),
  );
}
