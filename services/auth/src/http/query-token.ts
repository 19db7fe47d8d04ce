/** passport-auth0 sends userinfo’s token in the query; this moves it to the header, where the provider expects it. */
import type { NextFunction, Request, Response } from 'express';

export function queryTokenAsHeader(request: Request, _response: Response, next: NextFunction): void {
  const { searchParams, pathname } = new URL(request.url, 'http://gate');
  const token = searchParams.get('access_token');
  if (token !== null && request.headers.authorization === undefined) {
    request.headers.authorization = `Bearer ${token}`;
    searchParams.delete('access_token');
    request.url = `${pathname}${searchParams.size > 0 ? `?${searchParams}` : ''}`;
    request.originalUrl = request.url;
  }
  next();
}
