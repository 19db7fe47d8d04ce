/**
 * Bounds the parameters of requests that are stored while somebody logs in or out: thousands of long ones would fill Redis. 2 kB each and
 * 8 kB together, in bytes of UTF-8. JWTs (`request`, `id_token_hint`) have their own limit: the parameters inside the former are counted
 * again, and the latter is one of our own tokens.
 */
import type { NextFunction, Request, Response } from 'express';
import { ApiError } from './api-error.ts';

const eachMaxBytes = 2_048;
const allMaxBytes = 8_192;
const jwtMaxBytes = 16_384;
const jwts = new Set(['request', 'id_token_hint']);

/** An error description for what is too long; undefined if nothing is. */
export function tooLong(parameters: Record<string, unknown>, own: ReadonlySet<string> = new Set()): string | undefined {
  let all = 0;
  for (const name in parameters) {
    const value = parameters[name];
    const isJwt = jwts.has(name);
    const max = isJwt ? jwtMaxBytes : eachMaxBytes;
    // Hardly any is repeated, and this runs on every request.
    for (const text of Array.isArray(value) ? value.flat() : [value]) {
      if (typeof text !== 'string') continue;
      const bytes = Buffer.byteLength(text);
      if (bytes > max && !own.has(name)) return `${name} is longer than ${max} bytes`;
      if (!isJwt) all += bytes + name.length;
    }
  }
  return all > allMaxBytes ? `the parameters are longer than ${allMaxBytes} bytes in total` : undefined;
}

/** Refuses parameters that are too long, where no client is known to report to. */
export function boundParameters(request: Request, _response: Response, next: NextFunction): void {
  const problem = tooLong({ ...(request.query as object), ...((request.body ?? {}) as object) });
  if (problem !== undefined) throw new ApiError(400, 'invalid_request', problem);
  next();
}
