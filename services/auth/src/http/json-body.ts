/**
 * Auth0's SDKs send JSON where OAuth has forms. Such a body is turned into a form before the provider sees it; size and depth
 * are capped, and what is no flat object of plain values is refused (RFC 6749 errors).
 */
import type { IncomingMessage } from 'node:http';
import type { NextFunction, Request, Response } from 'express';
import express from 'express';

export const jsonEndpoints = ['/oauth/token', '/oauth/revoke', '/oauth/introspect', '/oauth/par', '/oauth/device/code'];

const parse = express.json({ limit: '56kb', strict: true });

export function jsonAsForm(request: Request, response: Response, next: NextFunction): void {
  if (!request.is('application/json')) {
    next();
    return;
  }
  const refuse = (description: string, status = 400): void => {
    response
      .status(status)
      .set('cache-control', 'no-store')
      .json({ error: 'invalid_request', error_description: description });
  };
  parse(request, response, (error?: unknown) => {
    if (error) {
      const { type } = error as { type?: string };
      if (type === 'entity.too.large') return refuse('the body is too large', 413);
      return refuse('the body is not JSON');
    }
    const form = formOf(request.body);
    if (typeof form === 'string') return refuse(form);
    // The provider reads a parsed body as it would a form's.
    (request as IncomingMessage & { body: unknown }).body = form;
    request.headers['content-type'] = 'application/x-www-form-urlencoded';
    next();
  });
}

/** The body as form fields, or what is wrong with it. */
export function formOf(body: unknown): Record<string, string | string[]> | string {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return 'the body must be a JSON object';
  const form: Record<string, string | string[]> = Object.create(null);
  for (const [name, value] of Object.entries(body)) {
    if (value === null || value === undefined) continue;
    if (Array.isArray(value)) {
      if (!value.every((item) => typeof item === 'string')) return `'${shown(name)}' must hold plain values`;
      form[name] = value;
    } else if (typeof value === 'object') return `'${shown(name)}' must be a plain value`;
    else form[name] = String(value);
    if ([name, form[name]].flat().some((text) => text.includes('\0'))) return 'the body is malformed';
  }
  return form;
}

function shown(name: string): string {
  return name.replace(/[^\w.-]/g, '').slice(0, 40);
}
