/** How a grant refuses whoever has to wait. */
import { errors, type KoaContextWithOIDC } from 'oidc-provider';

/** 429 for this pair of account and address, whichever door its failures came by. */
export class TooManyAttempts extends errors.OIDCProviderError {
  readonly retryAfterSeconds: number;
  constructor(seconds: number) {
    super(429, 'too_many_attempts');
    this.error_description = 'Too many wrong passwords or codes for this login from this address. Try again later.';
    this.retryAfterSeconds = seconds;
  }
}

/** The error, with its header (RFC 9110 section 10.2.3). */
export function retryLater<E extends Error & { retryAfterSeconds: number }>(ctx: KoaContextWithOIDC, error: E): E {
  ctx.set('retry-after', String(error.retryAfterSeconds));
  return error;
}
