/** Replaces the library’s own forms with our page. */
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import { answerPage } from '../http/page.ts';
import { returnUri, sessionSecret } from '../provider-pages.ts';
import { type Change, changeAnswers } from './middleware.ts';

/**
 * The library submits some forms by itself: it logs out without asking if nobody is logged in, or if somebody else is, on the way
 * back from a login; and it takes a device code from the URL. These forms get our page and headers, because the library’s could be
 * framed by any site.
 */
export function dressOwnForms(provider: Provider): void {
  const dress =
    (route: string, fieldsOf: (ctx: KoaContextWithOIDC) => Record<string, string>): Change =>
    (ctx) => {
      if (ctx.status !== 200 || ctx.response.get('content-security-policy')) return undefined;
      const page = { action: ctx.oidc.urlFor(route), fields: { xsrf: sessionSecret(ctx), ...fieldsOf(ctx) } };
      const language = { acceptLanguage: ctx.get('accept-language') };
      answerPage(ctx, 'form-post', { ...language, ...page, redirectUri: returnUri(ctx) }, 200);
      return undefined;
    };
  const logout = dress('end_session_confirm', () => ({ logout: 'yes' }));
  for (const route of ['end_session', 'resume', 'device_resume']) changeAnswers(provider, route, logout);
  const userCode = (ctx: KoaContextWithOIDC) => ({ user_code: String(ctx.oidc.params?.user_code ?? '') });
  changeAnswers(provider, 'code_verification', dress('code_verification', userCode));
}
