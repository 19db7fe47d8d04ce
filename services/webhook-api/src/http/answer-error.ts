/** Where every error becomes an answer in GitHub's form. What is our fault says nothing of itself to the client. */

import { types } from 'node:util';
import { NotPublished } from '@gatepost/amqp/publisher';
import type { Log } from '@gatepost/runtime/log';
import { Prisma } from '@gatepost/webhook-db/client';
import type { ErrorRequestHandler } from 'express';
import pg from 'pg';
import type { AnyRoute } from '../routes.ts';
import { ApiError, unavailable } from './errors.ts';

export function answerError(log: Log): ErrorRequestHandler {
  return (error: unknown, _request, response, _next) => {
    const answer = asAnswer(error);
    if (answer.status >= 500)
      log[answer.status === 503 ? 'warn' : 'error'](
        { 'request.id': response.locals.id, error: answer.cause ?? error },
        answer.status === 503 ? 'a store or the gate is away' : 'could not answer a request',
      );
    if (response.headersSent) return void response.destroy();
    const route = response.locals.route as AnyRoute | undefined;
    const docs = route?.operation.docs(route.family) ?? 'https://docs.github.com/rest';
    response.status(answer.status).set(answer.headers);
    response.removeHeader('ETag');
    response.type('application/json; charset=utf-8').end(JSON.stringify(answer.body(docs)));
  };
}

function asAnswer(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (isAway(error)) return unavailable(error);
  // Express could not decode the path: nothing is there.
  if (error instanceof URIError) return new ApiError(404, 'Not Found', { cause: error });
  return new ApiError(500, 'Server Error', { cause: error });
}

/** PostgreSQL's classes for connections, resources, interventions and waiting for a lock; all else is a statement's fault. */
const awayClasses = ['08', '53', '57', '58'];
const lockNotAvailable = '55P03';

function isAway(error: unknown): boolean {
  if (error instanceof NotPublished) return true;
  if (error instanceof pg.DatabaseError)
    return awayClasses.includes(error.code?.slice(0, 2) ?? '') || error.code === lockNotAvailable;
  if (error instanceof Prisma.PrismaClientInitializationError) return true;
  if (error instanceof Prisma.PrismaClientKnownRequestError)
    return error.code.startsWith('P1') || error.code === 'P2024' || error.code === 'P2028';
  // What the driver says of a connection that could not be made, broke, or did not answer in time carries no SQL state.
  return types.isNativeError(error) && isFromDriver(error);
}

function isFromDriver(error: Error): boolean {
  const { code } = error as { code?: unknown };
  if (typeof code === 'string' && /^E[A-Z]+$/.test(code)) return true;
  return /^(timeout exceeded when trying to connect|Connection terminated|Query read timeout|Client has encountered a connection error)/.test(
    error.message,
  );
}
