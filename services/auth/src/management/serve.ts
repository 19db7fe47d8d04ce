/** Takes one request through one route, from its token's scopes to its answer: the core of the management API. */
import type { Request, RequestHandler } from 'express';
import { parseShape } from '../http/parse-shape.ts';
import { setRoute } from '../http/route.ts';
import type { Caller } from './authenticate.ts';
import type { Parts } from './parts.ts';
import { badBody, badQuery, insufficientScope, ManagementProblem } from './problem.ts';
import type { Route } from './routes.ts';

/** @param callerOf returns the authenticated caller of a request */
export function serve(route: Route, parts: Parts, callerOf: (request: Request) => Caller): RequestHandler {
  const { method, path, scopes, operation } = route;
  return async (request, response) => {
    setRoute(response, `api/v2${path}`);
    const caller = callerOf(request);
    if (!scopes.some((scope) => caller.scopes.has(scope))) throw insufficientScope(scopes);

    const { status, body } = await operation.run({
      parts,
      params: request.params as Record<string, string>, // no route has a wildcard
      query: operation.query && parseShape(operation.query, withLists(request.query), badQuery),
      body: operation.body && parseShape(operation.body, bodyOf(request), badBody),
      scopes: caller.scopes,
      origins: [...new Set([...caller.web_origins, ...caller.allowed_origins])],
    });
    if (method !== 'get') note(caller, request, status, body);
    response.status(status);
    if (body === undefined) response.end();
    else response.json(body);
  };

  /** Logs each successful write. */
  function note({ clientId, userId }: Caller, request: Request, status: number, body: unknown): void {
    const operation = `${method.toUpperCase()} api/v2${path}`;
    const details = { operation, status, ...targetOf(request, body) };
    parts.audit.add({ type: 'sapi', clientId, userId, ip: request.ip, details });
  }
}

/** @throws ManagementProblem 415 if there is a body that no parser took: it would be ignored, and the change answered as made */
function bodyOf({ body, headers }: Request): unknown {
  const isThere = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  if (body === undefined && isThere)
    throw new ManagementProblem(415, 'invalid_body', 'The body must be JSON (content-type: application/json)');
  return body ?? {};
}

/** Collects lists in a query, in all the ways that tools write them: `strategy=a&strategy=b`, `strategy[]=a`, `strategy[0]=a`. */
function withLists(query: Record<string, unknown>): Record<string, unknown> {
  const lists = new Map<string, unknown[]>();
  const plain = Object.entries(query).filter(([key, value]) => {
    const [, name] = /^(\w+)\[\d{0,3}\]$/.exec(key) ?? [];
    if (name === undefined) return true;
    lists.set(name, [...(lists.get(name) ?? []), value].flat());
    return false;
  });
  return Object.fromEntries([...plain, ...lists]);
}

/** The resource named in the path, or the created one. */
function targetOf(request: Request, body: unknown): { target?: string } {
  const made = (body ?? {}) as Record<'id' | 'client_id' | 'user_id', unknown>;
  const target = request.params.id ?? request.params.kid ?? made.id ?? made.user_id ?? made.client_id;
  return typeof target === 'string' ? { target } : {};
}
