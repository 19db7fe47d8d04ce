/**
 * Refuses what no request may contain, whatever its purpose: broken escapes, text that is not UTF-8 or that PostgreSQL cannot store,
 * thousands of parameters, endlessly nested tokens. Answered here, once, with 400, rather than by whatever would fail further in.
 */
import querystring from 'node:querystring';
import { type NextFunction, type Request, type Response, text } from 'express';
import { ApiError } from './api-error.ts';
import { depthMax, isDeepToken } from './json-depth.ts';

const parametersMax = 500;
const bodyMax = '56kb';
// A shorter form cannot contain a token that is nested too deeply.
const shortForm = 1_000;
const readForm = text({ type: 'application/x-www-form-urlencoded', limit: bodyMax });

/** Reads a form, checks it and the query, and leaves the form parsed: a repeated field becomes an array. */
export function wellFormed(request: Request, response: Response, next: NextFunction): void {
  const query = request.url.indexOf('?');
  checkText(query === -1 ? request.url : request.url.slice(0, query));
  if (query !== -1) checkForm(request.url.slice(query + 1));
  // Read before the endpoint is known; other bodies are read where they are expected.
  if (!request.is('application/x-www-form-urlencoded')) {
    next();
    return;
  }
  readForm(request, response, (error?: unknown) => {
    if (error) {
      next(error);
      return;
    }
    try {
      request.body = parseForm(typeof request.body === 'string' ? request.body : '');
    } catch (problem) {
      next(problem); // an error thrown from here would go unnoticed
      return;
    }
    next();
  });
}

/** Whether PostgreSQL can store the text: no NUL, and no lone surrogate, which is not valid Unicode. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

/** The text with U+FFFD in place of what PostgreSQL cannot store. */
export function toStorable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd');
}

/** @throws ApiError 400 when JSON contains text that cannot be stored (in names, too) or is nested too deeply */
export function checkJson(value: unknown, depthLeft = depthMax): void {
  if (typeof value === 'string' && !isStorable(value)) throw malformed();
  if (typeof value !== 'object' || value === null) return;
  if (depthLeft === 0) throw malformed(); // also keeps this recursion from exhausting the stack
  for (const [name, inner] of Object.entries(value)) {
    checkJson(name, depthLeft - 1);
    checkJson(inner, depthLeft - 1);
  }
}

/** A repeated field becomes an array. @throws ApiError 400 when it is malformed */
export function parseForm(form: string): querystring.ParsedUrlQuery {
  checkText(form);
  const fields = querystring.parse(form, '&', '=', { maxKeys: 0 });
  checkTokens(fields);
  return fields;
}

/** Checks a form or a query without parsing it, if it is short. @throws ApiError 400 when it is malformed */
export function checkForm(escaped: string): void {
  if (escaped.length < shortForm) checkText(escaped);
  else parseForm(escaped);
}

/** @throws ApiError 400 when one of the fields is a JWT that is nested deeper than any of ours */
export function checkTokens(fields: object): void {
  for (const value of Object.values(fields))
    if (Array.isArray(value) ? value.flat().some(isDeepToken) : isDeepToken(value)) throw malformed();
}

/** @throws ApiError 400 when text, still escaped, is malformed */
function checkText(escaped: string): void {
  if (escaped.split('&', parametersMax + 1).length > parametersMax) throw malformed();
  let decoded: string;
  try {
    decoded = decodeURIComponent(escaped.replaceAll('+', ' '));
  } catch {
    throw malformed(); // broken escapes, or bytes that are not UTF-8
  }
  // A form in another charset than UTF-8 may hold half a surrogate pair.
  if (!isStorable(decoded)) throw malformed();
}

function malformed(): ApiError {
  return new ApiError(400, 'invalid_request', 'the request is malformed');
}
