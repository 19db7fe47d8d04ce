/** When people are asked to log in or to consent, beyond OpenID’s own reasons. */
import { type Configuration, type Grant, interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider';
import { type PostLogin, postLoginPrompt } from '../actions/post-login.ts';
import { needsConfirmation } from '../authorization/confirmation.ts';
import { sessionLifetime } from '../clients/lifetimes.ts';
import { needsFreshLogin, type SecondFactorParts, secondFactorPrompt } from '../factors/prompt.ts';
import type { StoredUpstream } from '../library/sessions.ts';
import { type AdmissionParts, admissionCheck, joinPrompt } from '../organizations/admission.ts';
import { afterLogin, beforeLogin } from '../organizations/prompts.ts';
import { essentialAcrWeLack } from './acr.ts';

const { base, Check, Prompt } = interactionPolicy;

type Policy = NonNullable<NonNullable<Configuration['interactions']>['policy']>;

export function makePolicy({
  admission,
  postLogin,
  loadExistingGrant,
  ...parts
}: SecondFactorParts & {
  admission: AdmissionParts;
  postLogin: PostLogin;
  loadExistingGrant: (ctx: KoaContextWithOIDC) => Promise<Grant | undefined>;
}): Policy {
  const policy = base();
  const login = policy.get('login')!;
  login.checks.add(essentialAcrWeLack(parts.settings), 0);
  // A different acr from the session's is no reason to log in again: the prompt below asks for what is missing.
  login.checks.remove('essential_acr');
  login.checks.remove('essential_acrs');
  login.checks.add(needsFreshLogin(parts));
  // A passwordless connection never reuses the session (as at Auth0): requesting one leads to its code page. Nor does a database, which
  // only an invitation names. A connection to another provider reuses a session that began there.
  login.checks.add(
    new Check('passwordless_connection', 'End-User authentication is required', 'login_required', (ctx) => {
      const { connection } = ctx.oidc.params as { connection?: string };
      const isThere =
        connection === (ctx.oidc.session as { upstream?: StoredUpstream } | undefined)?.upstream?.connection;
      return connection !== undefined && !isThere && !hasLoggedIn(ctx) ? Check.REQUEST_PROMPT : Check.NO_NEED_TO_PROMPT;
    }),
  );
  // A login made in another browser counts only after the person here confirms it (authorization/login-ticket.ts).
  login.checks.add(
    new Check('login_ticket', 'End-User authentication is required', 'login_required', (ctx) =>
      ctx.oidc.params?.login_ticket !== undefined && !hasLoggedIn(ctx) ? Check.REQUEST_PROMPT : Check.NO_NEED_TO_PROMPT,
    ),
  );
  // A session ends eventually, however often it is used; sooner if an action says so.
  login.checks.add(
    new Check('session_lifetime', 'End-User authentication is required', 'login_required', (ctx) => {
      const { session } = ctx.oidc;
      if (!session?.accountId || hasLoggedIn(ctx)) return Check.NO_NEED_TO_PROMPT;
      const { endsAt = Number.POSITIVE_INFINITY } = session as { endsAt?: number };
      const isExpired = session.past(sessionLifetime.absolute) || endsAt <= Date.now() / 1000;
      return isExpired ? Check.REQUEST_PROMPT : Check.NO_NEED_TO_PROMPT;
    }),
  );
  // A blocked or deleted account, or one that ended its sessions, counts as absent (accounts/store.ts answers undefined then).
  login.checks.add(
    new Check('account_gone', 'End-User authentication is required', 'login_required', (ctx) =>
      ctx.oidc.session?.accountId && !ctx.oidc.account ? Check.REQUEST_PROMPT : Check.NO_NEED_TO_PROMPT,
    ),
  );
  login.checks.add(admissionCheck(admission));
  // For native applications consent is remembered only if the application's identity is certain.
  const consent = policy.get('consent')!;
  consent.checks.remove('native_client_prompt');
  consent.checks.add(
    new Check('native_client', 'a native application is confirmed each time', 'consent_required', (ctx) =>
      needsConfirmation(ctx) && !(ctx.oidc.result as { consent?: unknown } | undefined)?.consent
        ? Check.REQUEST_PROMPT
        : Check.NO_NEED_TO_PROMPT,
    ),
  );
  policy.add(secondFactorPrompt(parts), 1);
  policy.add(afterLogin(), 2);
  // Actions know the organization; a second factor that only they ask for comes after them.
  policy.add(postLoginPrompt(postLogin), 3);
  policy.add(secondFactorPrompt(parts), 4);
  policy.add(joinPrompt(admission, loadExistingGrant), 5);
  policy.add(beforeLogin(), 0);
  policy.add(new Prompt({ name: 'select_account', requestable: true }), 0);
  return policy;
}

/** In this interaction. */
function hasLoggedIn(ctx: KoaContextWithOIDC): boolean {
  return (ctx.oidc.result as { login?: unknown } | undefined)?.login !== undefined;
}
