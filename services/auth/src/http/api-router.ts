/** A router for JSON endpoints called by clients’ pages as well as by servers: handles body, client, CORS and errors in one place. */
import express, { type Request, type Response, type Router } from 'express';
import type { Client, Provider } from 'oidc-provider';
import type { OwnMetadata } from '../clients/metadata.ts';
import { ApiError } from './api-error.ts';
import { allowOrigin, makePreflight } from './cors.ts';
import { setRoute } from './route.ts';
import { checkJson } from './well-formed.ts';

export type ApiRequest = {
  /** The plain values of the body, which is a JSON object or a form. */
  fields: Record<string, unknown>;
  client: Client & OwnMetadata;
  request: Request;
  response: Response;
};

export type ApiHandler = (request: ApiRequest) => Promise<void>;

export function makeApiRouter(provider: Provider, handlers: Record<string, ApiHandler>): Router {
  const router = express.Router();
  const preflight = makePreflight('POST', 'content-type,auth0-client,x-request-language,auth0-forwarded-for');
  const bodies = [express.json({ limit: '56kb' })];
  for (const [path, handler] of Object.entries(handlers)) {
    router.options(path, preflight);
    router.post(path, ...bodies, async (request, response) => {
      setRoute(response, path);
      response.set('cache-control', 'no-store');
      try {
        const fields = fieldsOf(request);
        const client = await clientOf(provider, fields);
        allowOrigin(request, response, client);
        refuseForeignPage(request, response);
        await handler({ fields, client, request, response });
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        if (error.retryAfterSeconds !== undefined) response.set('retry-after', String(error.retryAfterSeconds));
        response.status(error.status).json(error.body);
      }
    });
  }
  return router;
}

/**
 * Another site’s page could not read the answer, but it could make a visitor’s browser spend codes, messages and tries from the visitor’s
 * own network. Browsers say when another site sends a request (Fetch Metadata, section 2.3); other programs do not.
 * @throws ApiError 403
 */
function refuseForeignPage(request: Request, response: Response): void {
  const site = request.get('sec-fetch-site');
  if ((site === 'cross-site' || site === 'same-site') && !response.get('access-control-allow-origin'))
    throw new ApiError(403, 'access_denied', 'this origin is not among those of the application');
}

/** A field as text; undefined if it is missing or empty. @throws ApiError 400 for anything else, such as a field given twice */
export function textField(fields: Record<string, unknown>, name: string): string | undefined {
  const value = fields[name] ?? '';
  if (typeof value !== 'string') throw new ApiError(400, 'invalid_request', `${name} must be given once, as text`);
  return value || undefined;
}

function fieldsOf(request: Request): Record<string, unknown> {
  const { body } = request as { body?: unknown };
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new ApiError(400, 'invalid_request', 'the body must be a JSON object or a form');
  checkJson(body);
  return body as Record<string, unknown>;
}

async function clientOf(provider: Provider, fields: Record<string, unknown>): Promise<Client & OwnMetadata> {
  const clientId = textField(fields, 'client_id');
  const client = clientId ? await provider.Client.find(clientId) : undefined;
  if (!client) throw new ApiError(clientId ? 401 : 400, 'invalid_request', 'missing or unknown client_id');
  return client as Client & OwnMetadata;
}
