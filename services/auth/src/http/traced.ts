/** The span of a request, from its normalized head to the end of its response. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Scope, Tracing } from '@gatepost/runtime/tracing';
import { routeOf } from './route.ts';

/** Runs the code that answers the request, after its body was read: a stream's callbacks belong to no request. */
export type Run = (work: () => void) => void;

const scopes = new WeakMap<ServerResponse, Scope>();

/** The id of the trace that a request belongs to, when it is answered; undefined while tracing is off. */
export const traceIdOf = (response: ServerResponse): string | undefined => scopes.get(response)?.traceId();

export function trace(tracing: Tracing, request: IncomingMessage, response: ServerResponse): Run {
  const scope = tracing.openScope(request.headers.traceparent);
  scopes.set(response, scope);
  response.once('close', () => {
    const route = routeOf(response);
    const { statusCode } = response;
    const attributes = {
      'http.request.method': request.method,
      'http.route': route,
      'http.response.status_code': statusCode,
    };
    scope.end(`${request.method} ${route}`, attributes, statusCode >= 500 ? String(statusCode) : undefined);
  });
  return scope.run;
}
