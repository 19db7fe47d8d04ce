/** Replaces the library’s own forms with our page. */
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import { answerPage } from '../http/page.ts';
import { returnUri, sessionSecret } from '../provider-pages.ts';

/**
 * The library submits some forms by itself: it logs out without asking if nobody is logged in, or if somebody else is, on the way
 * back from a login; and it takes a device code from the URL. These forms get our page and headers, because the library’s could be
 * framed by any site.
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
