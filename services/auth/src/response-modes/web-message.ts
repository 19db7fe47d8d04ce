/**
 * `web_message`: the response is posted to the window that opened or framed us, and to exactly the origin of the redirect URI,
 * which must be one of the client's Allowed Web Origins.
 */
import type { Client, KoaContextWithOIDC } from 'oidc-provider';
import type { OwnMetadata } from '../clients/metadata.ts';
import { answerPage } from '../http/page.ts';
import type { ResponseMode } from '../library/response-modes.ts';

export const webMessage: ResponseMode = (ctx, redirectUri, response) => {
  const language = { acceptLanguage: ctx.get('accept-language') };
  // Errors found before the mode was checked come straight here.
  if (!mayPostTo(ctx, ctx.oidc.client, redirectUri)) {
    const error = { error: 'invalid_request', description: 'this origin is not among the allowed web origins' };
    answerPage(ctx, 'error', { ...error, ...language }, 400);
    return;
  }
  answerPage(ctx, 'web-message', { origin: new URL(redirectUri).origin, response, ...language }, 200);
};

/**
 * The origin of the redirect URI decides: nothing else is posted to. On the first request the asking page, if the browser names it, must
 * also be an allowed origin; on the way back from the login page the Referer is our own.
 */
export function mayPostTo(ctx: KoaContextWithOIDC, client: Client | undefined, redirectUri: unknown): boolean {
  const allowed = (client as (Client & OwnMetadata) | undefined)?.web_origins ?? [];
  const target = typeof redirectUri === 'string' ? URL.parse(redirectUri)?.origin : undefined;
  if (!target || !allowed.includes(target)) return false;
  if (ctx.oidc.route !== 'authorization') return true;
  const asking = ctx.get('origin') || ctx.get('referer');
  return asking === '' || asking === 'null' || allowed.includes(URL.parse(asking)?.origin ?? '');
}
