/**
 * The library refuses whatever looks like a JWS or JWE at revocation and introspection, without looking for it. So tokens with dots are
 * spelled differently there, in a way that our own `find` (structured.ts) recognizes if they may be our JWTs. Others are unknown tokens
 * like any, which is no error (RFC 7009 section 2.2, RFC 7662 section 2.2).
 */
import type { NextFunction, Request, Response } from 'express';

const jwt = /^[\w-]+\.[\w-]+\.[\w-]+$/;

export function aliasTokenInForm(request: Request, _response: Response, next: NextFunction): void {
  const { body } = request as { body?: Record<string, unknown> };
  if (body) aliasStructuredToken(body);
  next();
}

/** The same for fields that were read already. */
export function aliasStructuredToken(fields: Record<string, unknown>): void {
  if (typeof fields.token === 'string') fields.token = fields.token.replaceAll('.', '~');
}

/** The JWT behind a value, whichever way it is spelled; undefined for an opaque one. */
export function structuredToken(value: string): string | undefined {
  const token = value.replaceAll('~', '.');
  return jwt.test(token) ? token : undefined;
}
