/** Turns every error into an answer in GitHub’s form. Internal errors reveal nothing to the client. */

import { NotPublished } from '@gatepost/amqp/publisher';
import { anchorOf } from '@gatepost/api-docs/viewer';
import type { Log } from '@gatepost/runtime/log';
import { isAway, sqlStateOf } from '@gatepost/runtime/store-errors';
import type { ErrorRequestHandler } from 'express';
import { BadCredentials } from '../access/token.ts';
import { operationIdOf } from '../meta/describe.ts';
import { guideNames } from '../meta/guides.ts';
import type { BaseOf } from './base.ts';
import { ApiError, unavailable } from './errors.ts';
import type { AnyRoute } from './route.ts';

export function answerError(log: Log, baseOf: BaseOf): ErrorRequestHandler {
  return (error: unknown, request, response, _next) => {
    const answer = asAnswer(error);
    if (answer.status >= 500)
      log[answer.status === 503 ? 'warn' : 'error'](
        { 'request.id': response.locals.id, error: answer.cause ?? error },
        answer.status === 503 ? 'a store or the gate is away' : 'could not answer a request',
      );
    if (error instanceof BadCredentials) response.locals.refused = error.refused;
    if (response.headersSent) return void response.destroy();
    const route = response.locals.route as AnyRoute | undefined;
    const base: string = response.locals.base ?? baseOf(request);
    const docs = `${base}/docs#${route ? anchorOf.operation(operationIdOf(route)) : anchorOf.tag(guideNames.errors)}`;
    response.status(answer.status).set(answer.headers);
    response.removeHeader('ETag');
    response.type('application/json; charset=utf-8').end(JSON.stringify(answer.body(docs, base)));
  };
}

const foreignKeyViolation = '23503';

function asAnswer(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  // What was to be written belongs to something that has been deleted since it was found.
  if (sqlStateOf(error) === foreignKeyViolation) return new ApiError(404, 'Not Found', { cause: error });
  if (error instanceof NotPublished || isAway(error)) return unavailable(error);
  // Express could not decode the path, so nothing is there.
  if (error instanceof URIError) return new ApiError(404, 'Not Found', { cause: error });
  return new ApiError(500, 'Server Error', { cause: error });
}
