/** The `Authorization` header of a request (`Bearer` or `token`, in any case). */
import type { Request } from 'express';
import { ApiError } from '../http/errors.ts';
import { badCredentials, type CheckToken, type Token } from './token.ts';

/** The caller; undefined when the request carries no credentials. @throws ApiError 401 for bad credentials. */
export async function authenticate(request: Request, check: CheckToken): Promise<Token | undefined> {
  const header = request.headers.authorization;
  if (header === undefined || header.trim() === '') return undefined;
  const match = /^(?:bearer|token) +([\w.~+/=-]+) *$/i.exec(header);
  if (!match) throw badCredentials();
  return check(match[1]!);
}

export const requiresAuthentication = () => new ApiError(401, 'Requires authentication');
