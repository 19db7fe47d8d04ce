/**
 * The management API, `api/v2`: Auth0's shapes, scopes, paging and errors. This is its entry: it authenticates, checks the
 * scope, parses what comes in and writes what goes out, errors included. Each resource has a file of its own.
 */

import type { z } from '@gatepost/runtime/env';
import { describeError, type Log } from '@gatepost/runtime/log';
import express, { type ErrorRequestHandler, type Request, type RequestHandler, type Router } from 'express';
import { ApiError } from '../http/api-error.ts';
import { allowOrigin, makePreflight } from '../http/cors.ts';
import { setRoute } from '../http/route.ts';
import { isStoreAway } from '../stores-away.ts';
import type { Authenticate, Caller } from './authenticate.ts';
import { badBody, badQuery, insufficientScope, ManagementProblem } from './problem.ts';
import type { Route } from './route.ts';

/** A write that succeeded. `operation` is its method and route template, `target` the id of what was written, if it has one. */
export type NoteOperation = (noted: {
  clientId: string;
  ip: string | undefined;
  operation: string;
  status: number;
  target?: string;
}) => void;

export function makeManagementApi(parts: {
  /** Every operation; `path` is below `api/v2`. */
  routes: Route[];
  authenticate: Authenticate;
  noteOperation: NoteOperation;
  log: Log;
}): Router {
  const { authenticate, noteOperation } = parts;
  const router = express.Router();
  const callers = new WeakMap<Request, Caller>();
  router.use(makePreflight('GET,POST,PUT,PATCH,DELETE', 'authorization,content-type,auth0-client'));
  router.use(async (request, response, next) => {
    setRoute(response, 'api/v2');
    response.set({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
    // Before the body is read: whoever may not write costs no parsing.
    const caller = await authenticate(request.get('authorization'));
    callers.set(request, caller);
    allowOrigin(request, response, caller);
    next();
  });
  router.use(express.json({ limit: '512kb', strict: false }), express.text({ limit: '512kb', type: 'text/html' }));
  for (const route of parts.routes) router[route.method](route.path, answer(route));
  router.use((request) => {
    throw new ManagementProblem(404, undefined, `Not Found: ${request.method}`);
  });
  // Outside the router, which leaves a path that cannot be decoded to whoever uses it.
  return express.Router().use('/api/v2', router, makeProblemHandler(parts.log));

  function answer(route: Route): RequestHandler {
    return async (request, response) => {
      setRoute(response, `api/v2${route.path}`);
      const caller = callers.get(request) as Caller;
      if (!route.scopes.some((scope) => caller.scopes.has(scope))) throw insufficientScope(route.scopes);
      const { status, body } = await route.handle({
        params: request.params as Record<string, string>,
        query: parse(route.query, request.query, badQuery),
        body: parse(route.body, request.body ?? {}, badBody),
        clientId: caller.clientId,
        scopes: caller.scopes,
      });
      const operation = `${route.method.toUpperCase()} api/v2${route.path}`;
      if (route.method !== 'get')
        noteOperation({ clientId: caller.clientId, ip: request.ip, operation, status, ...targetOf(request, body) });
      response.status(status);
      if (body === undefined) response.end();
      else response.json(body);
    };
  }
}

/** What the path names, or what was created. */
function targetOf(request: Request, body: unknown): { target?: string } {
  const made = (body ?? {}) as Record<'id' | 'client_id' | 'user_id', unknown>;
  const target = request.params.id ?? request.params.kid ?? made.id ?? made.user_id ?? made.client_id;
  return typeof target === 'string' ? { target } : {};
}

function parse(
  schema: z.ZodType | undefined,
  value: unknown,
  problem: (message: string) => ManagementProblem,
): unknown {
  if (schema === undefined) return undefined;
  const flaw = findFlaw(value);
  if (flaw !== undefined) throw problem(flaw);
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw problem(issue ? describeIssue(issue) : 'malformed');
}

/** The first problem in words near Auth0's. */
function describeIssue(issue: z.core.$ZodIssue): string {
  const path = issue.path.map(String).join('.');
  if (issue.code === 'unrecognized_keys') return `Additional properties not allowed: ${issue.keys.join(',')}`;
  if (issue.code === 'invalid_type' && issue.input === undefined) return `Missing required property: ${path}`;
  return path === '' ? issue.message : `${issue.message} on property ${path}`;
}

const maxDepth = 32;

/** What no schema names and PostgreSQL cannot keep: NUL, half a surrogate pair; and nesting that costs more than it can mean. */
function findFlaw(value: unknown, depth = 0): string | undefined {
  if (typeof value === 'string') {
    if (value.includes('\0')) return 'a string must not contain NUL';
    return value.isWellFormed() ? undefined : 'a string must be well-formed Unicode';
  }
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth >= maxDepth) return `nested more than ${maxDepth} levels deep`;
  for (const [key, inner] of Object.entries(value)) {
    const flaw = findFlaw(key) ?? findFlaw(inner, depth + 1);
    if (flaw !== undefined) return flaw;
  }
  return undefined;
}

/** Answers what fails below `api/v2`, also before the request got here. */
export function makeProblemHandler(log: Log): ErrorRequestHandler {
  return (error, _request, response, next) => {
    if (response.headersSent) return next(error);
    const problem = toProblem(error);
    if (problem.statusCode === 500) log.error({ error: describeError(error) }, 'the management API failed to answer');
    if (problem.statusCode === 401) response.set('www-authenticate', 'Bearer error="invalid_token"');
    response.status(problem.statusCode).json(problem);
  };
}

function toProblem(error: unknown): ManagementProblem {
  if (error instanceof ManagementProblem) return error;
  if (isStoreAway(error)) return new ManagementProblem(503, 'temporarily_unavailable', 'Try again in a moment');
  // What Express and its body parsers refuse: malformed JSON, a broken escape in the path, too large a body.
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
