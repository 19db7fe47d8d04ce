/**
 * The trigger post-login, where Auth0 has it: once in an authorization request, after the login and before a second factor that it asks for and
 * the consent; and at each token request that no such request has gone before: of a refresh token, a password, an exchange. What a request for a
 * code has decided goes with the code.
 */
import { type Client, interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider';
import type { AccountStore } from '../accounts/store.ts';
import type { RequireSecondFactor } from '../factors/mfa-token.ts';
import { hasSecondFactors, isMultiFactor } from '../factors/policy.ts';
import { mfaSettingsOf } from '../factors/types.ts';
import { addressOf } from '../http/head.ts';
import { organizationOf } from '../organizations/of-grant.ts';
import type { SettingsStore } from '../settings/store.ts';
import { type EventParts, postLoginEvent } from './event.ts';
import { changedMetadata, type Outcome } from './outcome.ts';
import { keepOutcome, outcomeBefore, outcomeNow, setOutcome } from './outcomes.ts';
import { findPerson } from './person.ts';
import { checkAllowed, DeniedByAction, told } from './refusal.ts';
import type { ActionRunner } from './runner.ts';

export type PostLogin = {
  /** Whether anything would run. */
  isBound(): Promise<boolean>;
  /** In an authorization request of somebody who is signed in. @throws what refuses it */
  atAuthorization(ctx: KoaContextWithOIDC): Promise<void>;
  /** Of a refresh token that is good. @throws what refuses it */
  atRefresh(ctx: KoaContextWithOIDC): Promise<void>;
  /** For somebody whom a grant has identified. @throws what refuses it, also with `mfa_required` */
  atGrant(ctx: KoaContextWithOIDC, proven: Proven, requireSecondFactor?: RequireSecondFactor): Promise<void>;
};

type Proven = {
  accountId: string;
  amr: string[] | undefined;
  authTime?: number;
  protocol: string;
  organization?: string;
};

export type PostLoginParts = EventParts & {
  runner: ActionRunner;
  accounts: Pick<AccountStore, 'find' | 'update'>;
  settings: SettingsStore;
};

const trigger = 'post-login';

export function makePostLogin(parts: PostLoginParts): PostLogin {
  const { runner, settings } = parts;
  return {
    isBound: () => runner.isBound(trigger),
    async atAuthorization(ctx) {
      const { session, account, params } = ctx.oidc;
      if (!session?.accountId || !account || outcomeNow(ctx) || !(await runner.isBound(trigger))) return;
      const before = outcomeBefore(ctx, account.accountId);
      if (before) return keepOutcome(ctx, before);
      const { amr } = session as { amr?: string[] };
      const { organization } = (params ?? {}) as { organization?: string };
      const authTime = session.authTime();
      const isDevice = ctx.oidc.deviceCode !== undefined;
      const protocol = isDevice ? 'oauth2-device-code' : protocolOf(params?.response_type);
      const proven = {
        accountId: account.accountId,
        amr,
        protocol,
        ...(authTime && { authTime }),
        ...(organization && { organization }),
      };
      const outcome = await run(parts, ctx, proven, session.uid);
      if (outcome?.secondFactor && !isMultiFactor(amr)) await checkSecondFactors();
    },
    async atRefresh(ctx) {
      if (!(await runner.isBound(trigger))) return;
      // Kept with it (library/tokens); the typings leave it out.
      const { accountId, amr, authTime } = ctx.oidc.entities.RefreshToken as unknown as Proven;
      const organization = organizationOf(ctx);
      const protocol = 'oauth2-refresh-token';
      // Nobody is there who could prove anything more.
      await run(parts, ctx, {
        accountId,
        amr,
        protocol,
        ...(authTime && { authTime }),
        ...(organization && { organization }),
      });
    },
    async atGrant(ctx, proven, requireSecondFactor) {
      if (!(await runner.isBound(trigger))) return;
      const outcome = await run(parts, ctx, proven);
      if (!outcome?.secondFactor || isMultiFactor(proven.amr) || !requireSecondFactor) return;
      await checkSecondFactors();
      const account = (await parts.accounts.find(proven.accountId))!;
      const { amr = [] } = proven;
      await requireSecondFactor(ctx, {
        client: ctx.oidc.client!,
        account,
        amr,
        ip: addressOf(ctx.req),
        isDemanded: true,
      });
    },
  };

  /** An action wants a second factor, and nobody could have one: then nobody gets in without. */
  async function checkSecondFactors(): Promise<void> {
    if (!hasSecondFactors(mfaSettingsOf(await settings.load())))
      throw new DeniedByAction('A second factor is required, and none is switched on.');
  }
}

/** @throws what refuses the request. What is to be written is written. */
async function run(
  parts: PostLoginParts,
  ctx: KoaContextWithOIDC,
  proven: Proven,
  session?: string,
): Promise<Outcome | undefined> {
  const { runner, accounts, pool } = parts;
  const { organization, authTime } = proven;
  const account = await findPerson(pool, proven.accountId, organization);
  if (!account) return undefined; // what follows finds nobody either
  const { clientId } = ctx.oidc.client as Client;
  const about = { clientId, userId: account.userId, ip: addressOf(ctx.req) };
  const outcome = await told(
    runner.run(trigger, about, () =>
      postLoginEvent(parts, ctx, { ...proven, account, organization, authTime, session }),
    ),
  );
  if (!outcome) return undefined;
  checkAllowed(outcome);
  const change = {
    ...(Object.keys(outcome.userMetadata).length > 0 && {
      userMetadata: changedMetadata(account.userMetadata, outcome.userMetadata) as object,
    }),
    ...(Object.keys(outcome.appMetadata).length > 0 && {
      appMetadata: changedMetadata(account.appMetadata, outcome.appMetadata) as object,
    }),
  };
  if (Object.keys(change).length > 0) await accounts.update(account.userId, change);
  setOutcome(ctx, account.userId, outcome);
  return outcome;
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

/** No page is ever shown for it: it is where the library asks, after a login, what is still missing. */
export function postLoginPrompt(postLogin: PostLogin) {
  return new Prompt(
    { name: 'actions', requestable: false },
    new Check('post_login', 'actions of the tenant have not run', 'access_denied', async (ctx) => {
      await postLogin.atAuthorization(ctx);
      return Check.NO_NEED_TO_PROMPT;
    }),
  );
}
