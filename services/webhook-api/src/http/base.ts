/** The address that a request used: what absolute URLs in answers are built from (GH section 1). */
import type { Request } from 'express';
import { ApiError } from './errors.ts';

/**
 * `http://localhost:4500` or `https://host/api/v3`: scheme and host as the client saw them, also behind a trusted proxy.
 * @throws ApiError 400 for a `Host` that could not stand in a URL.
 */
export function baseOf(request: Request): string {
  const { protocol, host } = request;
  if (!host || !/^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i.test(host) || !/^https?$/.test(protocol))
    throw new ApiError(400, 'Bad Host header');
  return `${protocol}://${host}${request.baseUrl}`;
}
