/**
 * The library refuses JWTs at revocation and introspection before it looks for them. Here such a token gets another spelling,
 * under which our own `find` (structured.ts) knows it.
 */
import type { NextFunction, Request, Response } from 'express';

const jwt = /^[\w-]+\.[\w-]+\.[\w-]+$/;

export function aliasStructuredTokens(request: Request, _response: Response, next: NextFunction): void {
  const { body } = request as { body?: Record<string, unknown> };
  // No dots: it does not look like a JWT any more.
  if (typeof body?.token === 'string' && jwt.test(body.token)) body.token = body.token.replaceAll('.', '~');
  next();
}

/** The JWT behind a value, whichever way it is spelled; undefined for an opaque one. */
export function structuredToken(value: string): string | undefined {
  const token = value.replaceAll('~', '.');
  return jwt.test(token) ? token : undefined;
}
