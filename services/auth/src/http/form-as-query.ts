/**
 * `POST /authorize` and `POST /oidc/logout` mean the same as GET (OpenID Connect Core 3.1.2.1, RP-Initiated Logout 2). The form becomes the
 * query before the provider sees it, so that there is only one way in. The library’s own support for POST would require a SameSite=None
 * cookie, which is impossible over plain http.
 */
import querystring from 'node:querystring';
import type { NextFunction, Request, Response } from 'express';

export const formEndpoints = ['/authorize', '/oidc/logout'];

export function formAsQuery(request: Request, _response: Response, next: NextFunction): void {
  const form = querystring.stringify((request.body ?? {}) as querystring.ParsedUrlQueryInput);
  request.method = 'GET';
  request.url = `${request.path}?${form}`;
  request.originalUrl = request.url;
  request.body = undefined;
  delete request.headers['content-type'];
  delete request.headers['content-length'];
  next();
}
