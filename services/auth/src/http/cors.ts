/** CORS for our own endpoints: only a client’s own origins, named exactly, and never with credentials (sec-104). */
import type { Request, RequestHandler, Response } from 'express';

/** A preflight is answered for everybody; only the client’s origins can read the answer to the request itself. */
export function makePreflight(methods: string, headers: string): RequestHandler {
  return (request, response, next) => {
    const origin = request.get('origin');
    if (request.method !== 'OPTIONS' || !origin) {
      next();
      return;
    }
    response
      .vary('Origin')
      .set({
        'access-control-allow-origin': origin,
        'access-control-allow-methods': methods,
        'access-control-allow-headers': headers,
        'access-control-max-age': '3600',
      })
      .status(204)
      .end();
  };
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
