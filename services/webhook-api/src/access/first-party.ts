/**
 * What an application must not do for the person it acts for: decide on applications, or on who decides. It could let itself in, or keep
 * itself in (GitHub lets organization owners approve applications on its own pages only).
 */
import { ApiError } from '../http/errors.ts';
import type { Token } from './token.ts';

/** @throws ApiError 403 for a token that the gate did not give to a first-party client. */
export function checkFirstParty(token: Token): void {
  if (!token.firstParty)
    throw new ApiError(403, 'Resource not accessible by this OAuth application: it needs a first-party client');
}
