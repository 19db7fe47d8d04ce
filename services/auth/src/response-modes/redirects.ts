/**
 * `query` and `fragment`: 302 with the parameters in that component. A browser carries over the fragment of the address it came from (RFC
 * 9110 section 10.2.2), so the author of a link to /authorize can put one into the callback. An empty fragment in `Location` would prevent
 * that, but Authlib and Nimbus read `…?code=…#` as an answer of the implicit flow. No harm is done: the carried fragment is no answer, and
 * an application that also reads fragments checks `state`, which the author of the link does not know.
 */
import type { ResponseMode } from '../library/response-modes.ts';

export const query: ResponseMode = (ctx, redirectUri, response) => {
  const url = new URL(redirectUri);
  for (const [name, value] of Object.entries(response)) url.searchParams.set(name, String(value));
  redirect(ctx, url.href);
};

export const fragment: ResponseMode = (ctx, redirectUri, response) => {
  const url = new URL(redirectUri);
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(response)) parameters.set(name, String(value));
  url.hash = parameters.toString();
  redirect(ctx, url.href);
};

/** Without the body that Koa adds to a redirect, which nobody reads. */
function redirect(ctx: Parameters<ResponseMode>[0], location: string): void {
  ctx.status = 302;
  ctx.set('location', location);
  ctx.set('cache-control', 'no-store');
  ctx.set('referrer-policy', 'no-referrer');
  ctx.body = '';
}
