/** CORS for our own endpoints: a client's own origins, named exactly, and never with credentials (checks 104). */
import type { NextFunction, Request, Response } from 'express';

/** Anybody may ask whether he may ask; the answer to the request itself is for the client's origins alone. */
export function preflight(request: Request, response: Response, next: NextFunction): void {
  if (request.method !== 'OPTIONS' || !request.get('origin')) {
    next();
    return;
  }
  response
    .vary('Origin')
    .set({
      'access-control-allow-origin': request.get('origin') ?? '',
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': 'content-type,auth0-client,x-request-language,auth0-forwarded-for',
      'access-control-max-age': '3600',
    })
    .status(204)
    .end();
}

/** Lets a page of the client read the answer. */
export function allowOrigin(
  request: Request,
  response: Response,
  client: { web_origins: string[]; allowed_origins: string[] } | undefined,
): void {
  const origin = request.get('origin');
  response.vary('Origin');
  if (origin && (client?.web_origins.includes(origin) || client?.allowed_origins.includes(origin)))
    response.set('access-control-allow-origin', origin);
}
