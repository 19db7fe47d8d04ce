/** What a form posted. */
import type { Request } from 'express';
import { ApiError } from './api-error.ts';

/** A form's fields. @throws ApiError 400 for a field that was given twice */
export function fieldsOf(request: Request): Record<string, string | undefined> {
  return checkTexts(request.body);
}

/** The same for a query. */
export function queryOf(request: Request): Record<string, string | undefined> {
  return checkTexts(request.query);
}

function checkTexts(given: unknown): Record<string, string | undefined> {
  const fields = (given ?? {}) as Record<string, unknown>;
  const twice = Object.entries(fields).find(([, value]) => typeof value !== 'string');
  if (twice) throw new ApiError(400, 'invalid_request', 'a field was given more than once');
  return fields as Record<string, string>;
}
