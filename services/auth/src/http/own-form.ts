/**
 * Forms that only our own pages contain: a post caused by another site is refused, whatever token it carries (Fetch Metadata, section 2.3).
 * Our pages post to themselves, so another host of the same site is as foreign as any other: we do not know who runs it. `none` means that
 * the user caused it, for example by a reload. Old browsers and other programs send no header; then only the token decides.
 *
 * `POST /authorize` and `POST /oidc/logout` belong to the protocol, and other sites may post to them.
 */
import type { NextFunction, Request, Response } from 'express';
import { ApiError } from './api-error.ts';

/** Prefixes of paths. */
export const ownForms = [
  '/interaction',
  '/passwordless/link',
  '/change-password',
  '/activate',
  '/oidc/logout/confirm',
  '/account',
];

export function refuseForeignForms(request: Request, _response: Response, next: NextFunction): void {
  const site = request.get('sec-fetch-site');
  if (request.method === 'POST' && (site === 'cross-site' || site === 'same-site'))
    throw new ApiError(403, 'access_denied', 'this form was sent by another site');
  next();
}
