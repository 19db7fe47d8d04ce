/** Sends a hosted page, from one of our own routes or from inside the provider. */
import type { ServerResponse } from 'node:http';
import type { Response } from 'express';
import type { KoaContextWithOIDC } from 'oidc-provider';
import type { Page, PageContext, PageName } from '../pages/pages.ts';
import { renderPage } from '../pages/render.ts';

export function sendPage<Name extends PageName>(
  response: ServerResponse,
  name: Name,
  context: PageContext<Name>,
  status = 200,
): void {
  const { html, headers } = renderPage(name, context);
  for (const [header, value] of Object.entries(headers)) response.setHeader(header, value);
  response.statusCode = status;
  response.end(html);
}

/** The same as the body of a Koa context. */
export function answerPage<Name extends PageName>(
  ctx: KoaContextWithOIDC,
  name: Name,
  context: PageContext<Name>,
  status?: number,
): Page {
  const page = renderPage(name, context);
  ctx.set(page.headers);
  if (status !== undefined) ctx.status = status;
  ctx.body = page.html;
  return page;
}

/** Answers a form by sending the browser to a GET of that page, so that a reload does not send the form again. */
export function seeOther(response: Response, address: string): void {
  response.set('cache-control', 'no-store').set('referrer-policy', 'no-referrer').redirect(303, address);
}
