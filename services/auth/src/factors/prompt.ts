/**
 * Step-up: a session with one factor is asked for a second, without a new login, if the request or the policy requires two. Somebody
 * without a second factor sets one up, but only soon after a login: a session that was left open must not give itself a factor.
 */
import { interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider';
import { demandedByAction } from '../actions/outcomes.ts';
import type { SettingsStore } from '../settings/store.ts';
import { freshSeconds } from './fresh.ts';
import type { SecondFactorDue } from './policy.ts';
import { isRememberedBrowser, type RememberedParts } from './remembered.ts';
import { dueOf } from './second-factor.ts';

const { Check, Prompt } = interactionPolicy;

export type SecondFactorParts = RememberedParts & { settings: SettingsStore };

export function secondFactorPrompt(parts: SecondFactorParts) {
  return new Prompt(
    { name: 'mfa', requestable: false },
    new Check('second_factor', 'a second factor is required', 'interaction_required', async (ctx) =>
      (await secondFactorDueNow(parts, ctx)).kind === 'none' ? Check.NO_NEED_TO_PROMPT : Check.REQUEST_PROMPT,
    ),
  );
}

export function needsFreshLogin(parts: SecondFactorParts) {
  return new Check('enrolment', 'End-User authentication is required', 'login_required', async (ctx) => {
    const { session, result } = ctx.oidc;
    if (!session?.accountId || (result as { login?: unknown } | undefined)?.login) return Check.NO_NEED_TO_PROMPT;
    if (!session.past(freshSeconds)) return Check.NO_NEED_TO_PROMPT;
    return (await secondFactorDueNow(parts, ctx)).kind === 'enrolment' ? Check.REQUEST_PROMPT : Check.NO_NEED_TO_PROMPT;
  });
}

async function secondFactorDueNow(parts: SecondFactorParts, ctx: KoaContextWithOIDC): Promise<SecondFactorDue> {
  const { oidc } = ctx;
  const { session, account, client, params } = oidc;
  if (!session?.accountId || !account || !client) return { kind: 'none' };
  // Our own properties, missing in the typings.
  const { factors = [] } = account as { factors?: string[] };
  const { amr, isRemembered } = session as { amr?: string[]; isRemembered?: boolean };
  const byAction = demandedByAction(ctx);
  const asked = {
    settings: await parts.settings.load(),
    client,
    factors,
    params: params ?? {},
    amr,
    isRemembered: isRemembered === true,
    byAction,
  };
  const due = dueOf(asked);
  if (due.kind === 'none' || !byAction?.allowRememberBrowser) return due;
  // If nothing but an action asks, the login has not looked whether the browser is remembered.
  return (await isRememberedBrowser({ parts, request: ctx }, session.accountId))
    ? dueOf({ ...asked, isRemembered: true })
    : due;
}
