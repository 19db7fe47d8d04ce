/**
 * The hosted login and consent: every page posts back here, and each handler either shows the next page or finishes the
 * interaction, which sends the browser back into the authorization request. The interaction's cookie binds it to one browser,
 * the CSRF token each form to the interaction.
 *
 *   identifier ──► password ──────┐
 *       └────────► code ──────────┤
 *   login (classic) ──────────────┼──► logged in ──► consent ──► client
 *   signup ───────────────────────┤
 *   sign in as …? ────────────────┘
 */

import type { Request, Response } from 'express';
import { Router } from 'express';
import { errors } from 'oidc-provider';
import { fieldsOf } from '../http/form-fields.ts';
import { setRoute } from '../http/route.ts';
import { allowConsent, denyConsent, showConsent } from './consent.ts';
import { requestPasswordMail, showForgotPassword } from './forgot-password.ts';
import type { Interaction } from './interaction.ts';
import { type InteractionParts, openInteraction } from './interaction.ts';
import { checkCode, checkIdentifier, checkPassword, checkSignup, showFirstPage, showSignup } from './login.ts';
import { answerSignInAs, showSignInAs } from './sign-in-as.ts';

type Handler = (interaction: Interaction, request: Request, response: Response) => Promise<void>;

export function makeInteractionRoutes(parts: InteractionParts): Router {
  const router = Router();

  const page = (path: string, handler: Handler) =>
    router.get(path, async (request, response) => {
      setRoute(response, path);
      await handler(await openInteraction(parts, request, response), request, response);
    });
  const post = (path: string, handler: Handler) =>
    router.post(path, async (request, response) => {
      setRoute(response, path);
      const interaction = await openInteraction(parts, request, response);
      interaction.checkCsrf(fieldsOf(request).csrf);
      // A login page cannot give consent, and a consent page comes only after the login.
      if ((interaction.prompt === 'consent') !== path.endsWith('/consent'))
        throw new errors.SessionNotFound('another step of the interaction');
      await interaction.keep();
      await handler(interaction, request, response);
    });

  page('/interaction/:uid', (interaction, request, response) =>
    interaction.prompt === 'consent'
      ? showConsent(interaction, response)
      : interaction.params.login_ticket !== undefined
        ? showSignInAs(interaction, request, response)
        : showFirstPage(interaction, request, response),
  );
  post('/interaction/:uid/sign-in-as', answerSignInAs);
  post('/interaction/:uid/identifier', checkIdentifier);
  post('/interaction/:uid/password', checkPassword);
  post('/interaction/:uid/code', checkCode);
  page('/interaction/:uid/signup', (interaction, _request, response) => showSignup(interaction, response));
  post('/interaction/:uid/signup', checkSignup);
  page('/interaction/:uid/forgot-password', (interaction, _request, response) =>
    showForgotPassword(interaction, response),
  );
  post('/interaction/:uid/forgot-password', requestPasswordMail);
  post('/interaction/:uid/consent', (interaction, request, response) =>
    fieldsOf(request).action === 'deny' ? denyConsent(interaction) : allowConsent(interaction, response),
  );
  return router;
}
