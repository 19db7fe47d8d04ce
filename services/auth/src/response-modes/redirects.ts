/**
 * `query` and `fragment`: 302 with the parameters in the one or the other component. A browser carries the fragment of the address it
 * came from along (RFC 9110 section 10.2.2), so whoever makes the link to /authorize can put one into the callback. An empty fragment in
 * `Location` would end that, but Authlib and Nimbus read `…?code=…#` as an answer of the implicit flow. Nothing is lost: the
 * carried fragment is no answer, and an application that reads fragments too checks `state`, which the maker of the link does not know.
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

/** Koa answers a redirect with a body of its own; there is nobody to read it. */
function redirect(ctx: Parameters<ResponseMode>[0], location: string): void {
  ctx.status = 302;
  ctx.set('location', location);
  ctx.set('cache-control', 'no-store');
  ctx.set('referrer-policy', 'no-referrer');
  ctx.body = '';
}
