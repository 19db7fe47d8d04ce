/**
 * The hosted login and consent. Every form posts back here and is answered by a redirect: to the next page, back to its own with the
 * problems found, or out of the interaction, which sends the browser back to the authorization request. So every address answers
 * GET, and a reload repeats nothing. A cookie binds the interaction to one browser; a CSRF token binds each form to the interaction.
 *
 *   organization (some applications: by name before the login, or chosen from one's own after it)
 *   identifier ──► password ──────┐
 *       └────────► code ──────────┤
 *   login (classic) ──────────────┼──► second factor ──► logged in ──► consent ──► client
 *   signup ───────────────────────┤    (factors/)
 *   connection ──► a provider ────┤
 *   sign in as …? ────────────────┘
 */

import type { Request, Response } from 'express';
import { Router } from 'express';
import { errors } from 'oidc-provider';
import { showSecondFactor } from '../factors/challenge.ts';
import { addFactorPages } from '../factors/routes.ts';
import { fieldsOf } from '../http/form-fields.ts';
import { seeOther } from '../http/page.ts';
import { setRoute } from '../http/route.ts';
import { handleCallback, redirectToNamedProvider } from '../upstream/sign-in.ts';
import { checkCode, showCode } from './code.ts';
import { allowConsent, changeAccount, denyConsent, showConsent } from './consent.ts';
import { redirectForAction, resumeAction } from './continue.ts';
import { requestPasswordMail, showForgotPassword, showPasswordMail } from './forgot-password.ts';
import type { Interaction } from './interaction.ts';
import { type InteractionParts, openInteraction } from './interaction.ts';
import {
  checkIdentifier,
  checkPassword,
  checkSignup,
  showFirstPage,
  showIdentifier,
  showPassword,
  showSignup,
} from './login.ts';
import { checkOrganizationForm, showOrganization } from './organization.ts';
import { showPause } from './redisplay.ts';
import { answerSignInAs, showSignInAs } from './sign-in-as.ts';

type Handler = (interaction: Interaction, request: Request) => Promise<void>;

/** Buttons that lead to another page without sending the form; the typed login goes along. */
const leads: Record<string, string> = { signup: 'signup', login: 'identifier', forgot: 'forgot-password' };

export function makeInteractionRoutes(parts: InteractionParts): Router {
  const router = Router();

  const page = (path: string, show: Handler) =>
    router.get(path, async (request, response) => {
      setRoute(response, path);
      const interaction = await openInteraction(parts, request, response);
      // A login page cannot give consent, and a consent page comes only after the login.
      if (!isOf(interaction, path)) return showCurrent(interaction, request);
      await show(interaction, request);
    });
  const post = (path: string, check: Handler) =>
    router.post(path, async (request, response) => {
      setRoute(response, path);
      const interaction = await openForm(parts, request, response);
      if (!interaction) return;
      const { csrf, action = '', identifier, email } = fieldsOf(request);
      interaction.checkCsrf(csrf);
      if (!isOf(interaction, path)) throw new errors.SessionNotFound('another step of the interaction');
      await interaction.keep();
      const lead = leads[action];
      if (lead === undefined) return check(interaction, request);
      await interaction.turnTo(lead, { identifier: (identifier ?? email ?? '').slice(0, 320) });
    });

  page('/interaction/:uid', showCurrent);
  page('/interaction/:uid/sign-in-as', showCurrent);
  post('/interaction/:uid/sign-in-as', answerSignInAs);
  page('/interaction/:uid/identifier', showIdentifier);
  post('/interaction/:uid/identifier', checkIdentifier);
  page('/interaction/:uid/password', showPassword);
  post('/interaction/:uid/password', checkPassword);
  page('/interaction/:uid/code', showCode);
  post('/interaction/:uid/code', checkCode);
  page('/interaction/:uid/connection/:connection', redirectToNamedProvider);
  page('/interaction/:uid/callback', handleCallback);
  page('/interaction/:uid/too-many-attempts', showPause);
  page('/interaction/:uid/signup', showSignup);
  post('/interaction/:uid/signup', checkSignup);
  page('/interaction/:uid/forgot-password', showForgotPassword);
  post('/interaction/:uid/forgot-password', requestPasswordMail);
  page('/interaction/:uid/password-mail', showPasswordMail);
  addFactorPages(page, post);
  page('/interaction/:uid/continue/:answer', resumeAction);
  page('/interaction/:uid/organization', showOrganization);
  post('/interaction/:uid/organization', checkOrganizationForm);
  page('/interaction/:uid/consent', showConsent);
  post('/interaction/:uid/consent', (interaction, request) => {
    switch (fieldsOf(request).action) {
      case 'deny':
        return denyConsent(interaction);
      case 'other':
        return changeAccount(interaction);
      default:
        return allowConsent(interaction);
    }
  });
  return router;
}

/** The interaction's first page, or the one it has reached. */
function showCurrent(interaction: Interaction, _request?: Request): Promise<void> {
  if (interaction.prompt === 'actions') return redirectForAction(interaction);
  if (interaction.prompt === 'consent') return showConsent(interaction);
  if (interaction.prompt === 'mfa') return showSecondFactor(interaction);
  if (asksOrganization(interaction)) return showOrganization(interaction);
  return interaction.params.login_ticket !== undefined ? showSignInAs(interaction) : showFirstPage(interaction);
}

const asksOrganization = ({ prompt }: Pick<Interaction, 'prompt'>) =>
  prompt === 'organization' || prompt === 'organization_choice';

/** Whether the page belongs to the current prompt. A second factor is part of a login, or a prompt of its own. */
function isOf({ prompt }: Interaction, path: string): boolean {
  const isContinued = path.endsWith('/continue/:answer');
  if (prompt === 'actions' || isContinued) return prompt === 'actions' && isContinued;
  if (asksOrganization({ prompt }) || path.endsWith('/organization'))
    return asksOrganization({ prompt }) && path.endsWith('/organization');
  if (path === '/interaction/:uid') return prompt !== 'consent' && prompt !== 'mfa';
  if (path.endsWith('/consent')) return prompt === 'consent';
  return path.includes('/mfa') ? prompt !== 'consent' : prompt === 'login' || prompt === 'select_account';
}

/** The interaction of a form; undefined when it is over, which the page shown by GET explains. */
async function openForm(
  parts: InteractionParts,
  request: Request,
  response: Response,
): Promise<Interaction | undefined> {
  try {
    return await openInteraction(parts, request, response);
  } catch (error) {
    if (!(error instanceof errors.SessionNotFound)) throw error;
    seeOther(response, `/interaction/${encodeURIComponent(String(request.params.uid))}`);
    return undefined;
  }
}
