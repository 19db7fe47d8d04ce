/** Puts our page in place of the library’s own forms. */
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import { answerPage } from '../http/page.ts';
import { returnUri, sessionSecret } from '../provider-pages.ts';

/**
 * The library has self-submitting forms of its own: it logs out without asking if nobody is logged in, and when somebody else is,
 * on the way back from a login; and it takes a device code from the URL. They get our page and headers in place of the library’s,
 * which anybody could frame.
 */
export function dressOwnForms(provider: Provider): void {
  provider.use(async (context, next) => {
    await next();
    const ctx = context as KoaContextWithOIDC;
    const form = ctx.status === 200 && !ctx.response.get('content-security-policy') ? formOf(ctx) : undefined;
    if (!form) return;
    const page = { action: ctx.oidc.urlFor(form.route), fields: { xsrf: sessionSecret(ctx), ...form.fields } };
    const language = { acceptLanguage: ctx.get('accept-language') };
    answerPage(ctx, 'form-post', { ...language, ...page, redirectUri: returnUri(ctx) }, 200);
  });
}

function formOf(ctx: KoaContextWithOIDC): { route: string; fields: Record<string, string> } | undefined {
  switch (ctx.oidc?.route) {
    case 'end_session':
    case 'resume':
    case 'device_resume':
      return { route: 'end_session_confirm', fields: { logout: 'yes' } };
    case 'code_verification':
      return { route: 'code_verification', fields: { user_code: String(ctx.oidc.params?.user_code ?? '') } };
    default:
      return undefined;
  }
}
