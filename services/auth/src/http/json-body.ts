/**
 * Auth0’s SDKs send JSON where OAuth uses forms. Such a body is turned into a form before the provider sees it. Size and depth are
 * bounded, and anything but a flat object of plain values, each named once, is refused (RFC 6749 errors).
 */
import type { IncomingMessage } from 'node:http';
import type { NextFunction, Request, Response } from 'express';
import express from 'express';
import { checkJson, checkTokens, isStorable } from './well-formed.ts';

export const jsonEndpoints = ['/oauth/token', '/oauth/revoke', '/oauth/introspect', '/oauth/par', '/oauth/device/code'];

const parse = express.json({ limit: '56kb', strict: true, verify: checkNames });

/** The one parameter that may be given more than once (RFC 8707 section 2). */
const repeatable = 'resource';

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
      if (error instanceof RepeatedName) return refuse(error.message);
      return refuse('the body is not JSON');
    }
    const form = formOf(request.body);
    if (typeof form === 'string') return refuse(form);
    try {
      checkTokens(form);
    } catch {
      return refuse('the body is malformed'); // thrown from in here, nobody would hear of it
    }
    // The provider reads a parsed body like a form’s.
    (request as IncomingMessage & { body: unknown }).body = form;
    request.headers['content-type'] = 'application/x-www-form-urlencoded';
    next();
  });
}

/** A body that stays JSON: read and checked here, so that it contains nothing on which the provider would fail. */
export function checkedJson(request: Request, response: Response, next: NextFunction): void {
  parse(request, response, (error?: unknown) => {
    let problem = error;
    try {
      checkJson(request.body);
    } catch (malformed) {
      problem ??= malformed;
    }
    next(problem);
  });
}

/** The body as form fields, or what is wrong with it. */
export function formOf(body: unknown): Record<string, string | string[]> | string {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return 'the body must be a JSON object';
  const form: Record<string, string | string[]> = Object.create(null);
  for (const [name, value] of Object.entries(body)) {
    if (value === null || value === undefined) continue;
    if (Array.isArray(value)) {
      if (name !== repeatable) return twice(name);
      if (!value.every((item) => typeof item === 'string')) return `'${shown(name)}' must hold plain values`;
      form[name] = value;
    } else if (typeof value === 'object') return `'${shown(name)}' must be a plain value`;
    else form[name] = String(value);
    const texts = [name, form[name]].flat();
    if (!texts.every(isStorable)) return 'the body is malformed';
  }
  return form;
}

class RepeatedName extends Error {}

/**
 * Refuses what JSON.parse silently accepts: a name that occurs twice in the object, of which one party may read the first value and
 * another the last. Whether the text is JSON at all is checked later.
 */
function checkNames(_request: IncomingMessage, _response: unknown, body: Buffer, encoding: string): void {
  if (encoding !== 'utf-8') throw new TypeError('JSON is UTF-8 (RFC 8259 section 8.1)');
  const name = repeatedName(body.toString());
  if (name !== undefined) throw new RepeatedName(twice(name));
}

/**
 * A string, with the colon if it is a name, or a bracket. An unterminated string extends to the end of the text; otherwise the
 * search would restart at each quote in it, and a body full of them would keep us busy for seconds.
 */
const nameOrBracket = /("(?:[^"\\]|\\.)*(?:"|\\?$))(\s*:)?|[{}[\]]/gs;

/** The first name that occurs twice at the top level of an object. */
export function repeatedName(json: string): string | undefined {
  const names = new Set<string>();
  let depth = 0;
  for (const [token, name, colon] of json.matchAll(nameOrBracket)) {
    if (token === '{' || token === '[') depth += 1;
    else if (token === '}' || token === ']') depth -= 1;
    else if (depth === 1 && name && colon) {
      const plain = unescaped(name);
      if (names.has(plain)) return plain;
      names.add(plain);
    }
  }
  return undefined;
}

function unescaped(name: string): string {
  try {
    return JSON.parse(name) as string;
  } catch {
    return name; // then the body is no JSON
  }
}

/** The library’s message for a form with a repeated parameter. */
function twice(name: string): string {
  return `'${shown(name)}' parameter must not be provided twice`;
}

function shown(name: string): string {
  return name.replace(/[^\w.-]/g, '').slice(0, 40);
}
