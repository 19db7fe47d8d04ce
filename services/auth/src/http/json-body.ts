/**
 * Auth0’s SDKs send JSON where OAuth uses forms. Such a body is turned into a form before the provider sees it. Size and depth are bounded,
 * and anything but a flat object of plain values with unique names is refused (RFC 6749 errors).
 */
import type { IncomingMessage } from 'node:http';
import type { NextFunction, Request, Response } from 'express';
import express from 'express';
import { checkJson, checkTokens, isStorable } from './well-formed.ts';

const parse = express.json({ limit: '56kb', strict: true, verify: checkNames });

/** The one parameter that may be given more than once (RFC 8707 section 2). */
const repeatable = 'resource';

export function jsonAsForm(request: Request, response: Response, next: NextFunction): void {
  if (!request.is('application/json')) {
    next();
    return;
  }
  readBody(request, response, (error?: unknown) => {
    const problem = error === undefined ? takeForm(request) : problemOf(error);
    if (problem === undefined) {
      next();
      return;
    }
    const [status, description] = problem;
    response
      .status(status)
      .set('cache-control', 'no-store')
      .json({ error: 'invalid_request', error_description: description });
  });
}

type Problem = [status: number, description: string];

/** Reads the body, unless it has already been read (plain-body.ts). */
function readBody(request: Request, response: Response, done: (error?: unknown) => void): void {
  if (typeof request.body !== 'string') {
    parse(request, response, done);
    return;
  }
  try {
    request.body = readJson(request.body);
    done();
  } catch (error) {
    done(error);
  }
}

/** Parses JSON text like `parse`: an object or a list without repeated names. @throws for anything else */
export function readJson(text: string): unknown {
  const name = repeatedName(text);
  if (name !== undefined) throw new RepeatedName(repeatedMessage(name));
  if (!/^\s*[[{]/.test(text)) throw new SyntaxError('neither an object nor a list');
  return JSON.parse(text);
}

/** Turns the body into a form for the provider, or returns what is wrong with it. */
function takeForm(request: IncomingMessage & { body?: unknown }): Problem | undefined {
  const form = formOf(request.body);
  if (typeof form === 'string') return [400, form];
  try {
    checkTokens(form);
  } catch {
    return [400, 'the body is malformed'];
  }
  request.body = form;
  request.headers['content-type'] = 'application/x-www-form-urlencoded';
  return undefined;
}

function problemOf(error: unknown): Problem {
  if ((error as { type?: string }).type === 'entity.too.large') return [413, 'the body is too large'];
  return [400, error instanceof RepeatedName ? error.message : 'the body is not JSON'];
}

/** For a body that stays JSON: reads and checks it, so that it contains nothing on which the provider would fail. */
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
      if (name !== repeatable) return repeatedMessage(name);
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
 * Refuses what JSON.parse silently accepts: a name that occurs twice in an object, where one party may read the first value and another
 * the last. Whether the text is JSON at all is checked later.
 */
function checkNames(_request: IncomingMessage, _response: unknown, body: Buffer, encoding: string): void {
  if (encoding !== 'utf-8') throw new TypeError('JSON is UTF-8 (RFC 8259 section 8.1)');
  const name = repeatedName(body.toString());
  if (name !== undefined) throw new RepeatedName(repeatedMessage(name));
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
    return name; // the body is not valid JSON then
  }
}

/** The library’s message for a form with a repeated parameter. */
function repeatedMessage(name: string): string {
  return `'${shown(name)}' parameter must not be provided twice`;
}

function shown(name: string): string {
  return name.replace(/[^\w.-]/g, '').slice(0, 40);
}
