/**
 * Forms that only our own pages hold: what another site has a browser post to them is refused whatever token it brings along
 * (Fetch Metadata, section 2.3). Our pages post to themselves, so a neighbour on the same site is as foreign as anybody: who
 * else has a host of that site we do not know. `none` is a person's own doing, such as a reload. A browser too old to say, and
 * whatever is no browser, sends no such header; then the token decides alone, as ever.
 *
 * `POST /authorize` and `POST /oidc/logout` are the protocol's, and other sites' to send.
 */
import type { NextFunction, Request, Response } from 'express';
import { ApiError } from './api-error.ts';

/** Prefixes of paths. */
export const ownForms = ['/interaction', '/passwordless/link', '/change-password', '/activate', '/oidc/logout/confirm'];

export function refuseForeignForms(request: Request, _response: Response, next: NextFunction): void {
  const site = request.get('sec-fetch-site');
  if (request.method === 'POST' && (site === 'cross-site' || site === 'same-site'))
    throw new ApiError(403, 'access_denied', 'this form was sent by another site');
  next();
}
