/**
 * What an application must not do on a person’s behalf: decide about applications, or about who decides. It could approve itself or stay
 * approved (GitHub lets organization owners approve applications only on its own pages).
 */
import { ApiError } from '../http/errors.ts';
import type { Token } from './token.ts';

/** @throws ApiError 403 for a token that the gate did not issue to a first-party client. */
export function checkFirstParty(token: Token): void {
  if (!token.firstParty)
    throw new ApiError(403, 'Resource not accessible by this OAuth application: it needs a first-party client');
}
