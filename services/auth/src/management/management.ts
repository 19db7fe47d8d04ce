/**
 * The management API, `api/v2`: Auth0's shapes, scopes, paging and errors. This entry point authenticates and reads the body. The
 * routes are in routes.ts, serve.ts runs a request through one, and each resource has its own file.
 */

import { describeError, type Log } from '@gatepost/runtime/log';
import { challengeOf, loggedRefusal } from '@gatepost/runtime/refused-token';
import { isAway } from '@gatepost/runtime/store-errors';
import express, { type ErrorRequestHandler, type Request, type Router } from 'express';
import { ApiError } from '../http/api-error.ts';
import { allowOrigin, makePreflight } from '../http/cors.ts';
import { setRoute } from '../http/route.ts';
import { type Caller, makeAuthenticate } from './authenticate.ts';
import { concurrentChangeProblem } from './concurrent-change.ts';
import { readMultipart } from './multipart.ts';
import { type ManagementParts, makeParts } from './parts.ts';
import { ManagementProblem, tryAgain } from './problem.ts';
import { routes } from './routes.ts';
import { serve } from './serve.ts';

/** An Express router for `/api/v2`, to be used ahead of the provider. */
export function makeManagement(given: ManagementParts): Router {
  const parts = makeParts(given);
  const authenticate = makeAuthenticate(parts);
  const callers = new WeakMap<Request, Caller>();
  const router = express.Router();
  router.use(makePreflight('GET,POST,PUT,PATCH,DELETE', 'authorization,content-type,auth0-client'));
  router.use(async (request, response, next) => {
    setRoute(response, 'api/v2');
    response.set({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
    // Before the body is read, so that unauthorized callers cost no parsing.
    const caller = await authenticate(request.get('authorization'));
    callers.set(request, caller);
    allowOrigin(request, response, caller);
    next();
  });
  router.use(express.json({ limit: '512kb', strict: false }), express.text({ limit: '512kb', type: 'text/html' }));
  const callerOf = (request: Request) => callers.get(request) as Caller;
  for (const route of routes) {
    if (route.operation.multipart) router[route.method](route.path, readMultipart);
    router[route.method](route.path, serve(route, parts, callerOf));
  }
  router.use((request) => {
    throw new ManagementProblem(404, undefined, `Not Found: ${request.method}`);
  });
  // Outside the router, which passes on an undecodable path.
  return express.Router().use('/api/v2', router, makeProblemHandler(parts.log));
}

/** Answers errors below `api/v2`, including those raised before the request got here. */
export function makeProblemHandler(log: Log): ErrorRequestHandler {
  return (error, _request, response, next) => {
    if (response.headersSent) return next(error);
    const problem = toProblem(error);
    if (problem.statusCode === 500) log.error({ error: describeError(error) }, 'the management API failed to answer');
    const { refused } = problem;
    if (problem.statusCode === 401)
      response.set('www-authenticate', refused ? challengeOf(refused.description) : 'Bearer');
    if (refused) log.info(loggedRefusal(refused), 'a token was refused');
    response.status(problem.statusCode).json(problem);
  };
}

function toProblem(error: unknown): ManagementProblem {
  if (error instanceof ManagementProblem) return error;
  const meanwhile = concurrentChangeProblem(error);
  if (meanwhile) return meanwhile;
  if (isAway(error)) return tryAgain();
  // Errors of Express and its body parsers: malformed JSON, a broken escape in the path, too large a body.
  if (error instanceof ApiError) return new ManagementProblem(error.status, 'invalid_uri', error.message);
  const { status } = error as { status?: unknown };
  if (typeof status === 'number' && status >= 400 && status < 500)
    return new ManagementProblem(
      status,
      'invalid_body',
      status === 413 ? 'The body is too large' : 'Malformed request',
    );
  return new ManagementProblem(500, undefined, 'An internal error occurred');
}
