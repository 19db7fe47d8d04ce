/** The span of a request, from its normalized head to the end of its response. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Tracing } from '@gatepost/runtime/tracing';
import { routeOf } from './route.ts';

/** Runs what answers the request: after its body was read, since what a stream calls is of no request. */
export type Run = (work: () => void) => void;

export function trace(tracing: Tracing, request: IncomingMessage, response: ServerResponse): Run {
  const scope = tracing.openScope(request.headers.traceparent);
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
