/**
 * The `Authorization` header of a request (`Bearer`, `token` or `Basic`, case-insensitive). With basic authentication the token is where
 * GitHub accepts it: as the password of any user, or as the user name with the password `x-oauth-basic` or none. A WebSocket request may
 * send the bare token, as GitHub's command line extension does.
 */
import type { Request } from 'express';
import { ApiError } from '../http/errors.ts';
import { upgradeOf } from '../http/upgrade.ts';
import { badCredentials, type CheckToken, type Token } from './token.ts';

/** The caller; undefined when the request carries no credentials. @throws ApiError 401 for bad credentials. */
export async function authenticate(request: Request, check: CheckToken): Promise<Token | undefined> {
  const header = request.headers.authorization;
  if (header === undefined || header.trim() === '') return undefined;
  if (upgradeOf(request) && !header.trim().includes(' ')) return check(header.trim());
  const [, scheme = '', value = ''] = /^(\w+) +([\w.~+/=-]+) *$/.exec(header) ?? [];
  switch (scheme.toLowerCase()) {
    case 'bearer':
    case 'token':
      return check(value);
    case 'basic':
      return check(readBasic(request, value));
    default:
      throw badCredentials();
  }
}

function readBasic(request: Request, value: string): string {
  // Browsers resend credentials on their own once a user has typed them in, even on requests made by another site’s page.
  if (['cross-site', 'same-site'].includes(request.get('sec-fetch-site') ?? '')) throw badCredentials();
  const text = Buffer.from(value, 'base64').toString();
  const colon = text.indexOf(':');
  const [user, password] = colon < 0 ? [text, ''] : [text.slice(0, colon), text.slice(colon + 1)];
  const token = password === '' || password === 'x-oauth-basic' ? user : password;
  if (!/^[\w.~+/=-]+$/.test(token)) throw badCredentials();
  return token;
}

export const requiresAuthentication = () => new ApiError(401, 'Requires authentication');
