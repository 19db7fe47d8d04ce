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

/** Where a client says that its pages are. */
export type Origins = {
  web_origins: string[];
  allowed_origins: string[];
  redirectUris?: readonly string[] | undefined;
};

/** Whether pages of this origin are the client’s. Where its callbacks are, its pages are too, as at Auth0. */
export function isOwnOrigin({ web_origins, allowed_origins, redirectUris = [] }: Origins, origin: string): boolean {
  if (origin === 'null') return false; // also the origin of an address with a scheme of an app
  return (
    web_origins.includes(origin) ||
    allowed_origins.includes(origin) ||
    redirectUris.some((uri) => URL.parse(uri)?.origin === origin)
  );
}

/** Lets a page of the client read the answer, and how long to wait where it says so. */
export function allowOrigin(request: Request, response: Response, client: Origins | undefined): void {
  const origin = request.get('origin');
  response.vary('Origin');
  if (origin && client && isOwnOrigin(client, origin))
    response.set({ 'access-control-allow-origin': origin, 'access-control-expose-headers': 'Retry-After' });
}
