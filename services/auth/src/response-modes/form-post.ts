/** `form_post` (OAuth 2.0 Form Post Response Mode): 200, even for errors, with a form that submits itself. */
import { answerPage } from '../http/page.ts';
import type { ResponseMode } from '../library/response-modes.ts';

export const formPost: ResponseMode = (ctx, redirectUri, response) => {
  answerPage(
    ctx,
    'form-post',
    { action: redirectUri, fields: response, acceptLanguage: ctx.get('accept-language') },
    200,
  );
};
