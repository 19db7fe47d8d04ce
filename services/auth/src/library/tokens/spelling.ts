/**
 * The library refuses JWTs at revocation and introspection without looking for them. So they are spelled differently, in a way
 * that our own `find` (structured.ts) recognizes.
 */
import type { NextFunction, Request, Response } from 'express';

const jwt = /^[\w-]+\.[\w-]+\.[\w-]+$/;

export function aliasStructuredTokens(request: Request, _response: Response, next: NextFunction): void {
  const { body } = request as { body?: Record<string, unknown> };
  if (body) aliasStructuredToken(body);
  next();
}

/** The same for form fields. */
export function aliasStructuredToken(fields: Record<string, unknown>): void {
  // Without dots it no longer looks like a JWT.
  if (typeof fields.token === 'string' && jwt.test(fields.token)) fields.token = fields.token.replaceAll('.', '~');
}

/** The JWT behind a value, whichever way it is spelled; undefined for an opaque one. */
export function structuredToken(value: string): string | undefined {
  const token = value.replaceAll('~', '.');
  return jwt.test(token) ? token : undefined;
}
