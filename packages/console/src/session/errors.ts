export class SignedOut extends Error {
  override message = 'You are no longer signed in.';
}

/** No answer at all: the API is away, or we are. */
export class Unreachable extends Error {}

const endings = new Set<unknown>([
  'invalid_grant',
  'invalid_client',
  'unauthorized_client',
  'access_denied',
  'login_required',
]);

/** What a failed use of the refresh token means: only these refusals end the session; anything else may be over in a moment. */
export const endOf = (error: unknown): Error =>
  endings.has(error) ? new SignedOut() : new Unreachable('The gate is not responding.');
