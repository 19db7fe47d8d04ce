/** The start and end of each request: its id, the headers of every answer, its log line and its duration. */
import { randomUUID } from 'node:crypto';
import type { Log } from '@gatepost/runtime/log';
import { httpDuration, type Registry } from '@gatepost/runtime/metrics';
import { loggedRefusal, type RefusedToken } from '@gatepost/runtime/refused-token';
import { tracing } from '@gatepost/runtime/tracing';
import type { RequestHandler } from 'express';
import type { Token } from '../access/token.ts';
import type { AnyRoute } from './route.ts';

export function requestLog(log: Log, registry: Registry): RequestHandler {
  const duration = httpDuration(registry);
  return (request, response, next) => {
    const startedAt = performance.now();
    const scope = tracing?.openScope(request.headers.traceparent);
    const traceId = scope?.traceId();
    const id = randomUUID().replaceAll('-', '').toUpperCase();
    response.locals.id = id;
    response.setHeader('X-GitHub-Request-Id', id);
    let isStreaming = false;
    const end = () => {
      const route = response.locals.route as AnyRoute | undefined;
      const token = response.locals.token as Token | undefined;
      const refused = response.locals.refused as RefusedToken | undefined;
      const milliseconds = performance.now() - startedAt;
      const labels = { method: request.method, route: route?.path ?? 'none', status: response.statusCode };
      duration.observe(knownMethods.has(request.method) ? labels : { ...labels, method: 'other' }, milliseconds / 1000);
      log.info(
        {
          'request.id': id,
          trace_id: traceId,
          'http.method': request.method,
          'http.route': route?.path,
          'http.status': response.statusCode,
          'client.id': token?.clientId,
          duration_ms: Math.round(milliseconds * 10) / 10,
          ...(refused && loggedRefusal(refused)),
          ...(response.writableFinished || response.statusCode === 101 || isStreaming ? {} : { aborted: true }),
        },
        'request',
      );
      scope?.end(
        `${request.method} ${route?.path ?? ''}`.trim(),
        {
          'http.request.method': request.method,
          'http.route': route?.path,
          'http.response.status_code': response.statusCode,
          'gatepost.request.id': id,
        },
        response.statusCode >= 500 ? String(response.statusCode) : undefined,
      );
    };
    response.once('close', end);
    // A stream counts as answered when it begins, however long it lasts.
    response.once('streaming', () => {
      isStreaming = true;
      response.off('close', end);
      end();
    });
    if (scope) scope.run(next);
    else next();
  };
}

const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
