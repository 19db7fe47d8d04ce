/** What a client is told while PostgreSQL or Redis is down: 503, try again later, instead of 500. */
import { isAway } from '@gatepost/runtime/store-errors';
import { errors } from 'oidc-provider';

/** Tells the caller to try again later: 503, or 429 if the caller is the cause. The library treats it like its own errors. */
export class RetryLater extends errors.OIDCProviderError {
  readonly retryAfterSeconds: number | undefined;
  constructor(
    status: 429 | 503,
    error: string,
    description: string,
    { cause, retryAfterSeconds }: { cause?: unknown; retryAfterSeconds?: number } = {},
  ) {
    super(status, error, { cause: cause as Error });
    this.error_description = description;
    this.retryAfterSeconds = retryAfterSeconds;
    this.expose = true;
  }

  /** The error, with its header (RFC 9110 section 10.2.3), which pages of the client may read. */
  withHeader(ctx: { set(name: string, value: string): void; append(name: string, value: string): void }): this {
    ctx.set('retry-after', String(this.retryAfterSeconds));
    ctx.append('access-control-expose-headers', 'Retry-After');
    return this;
  }
}

const inAMoment = 'the service is temporarily unavailable, try again in a moment';

export class TemporarilyUnavailable extends RetryLater {
  constructor(cause: unknown) {
    super(503, 'temporarily_unavailable', inAMoment, { cause });
  }
}

/** Enough for the currently waiting passwords to have been checked. */
export const busySeconds = 2;

/**
 * Too many passwords are waiting to be checked, so this request is refused instead of queued.
 * @param excess because of other requests from the same network
 */
export const busy = (excess = false): RetryLater =>
  excess
    ? new RetryLater(429, 'too_many_requests', 'too many logins at once from this address, try again in a moment', {
        retryAfterSeconds: busySeconds,
      })
    : new RetryLater(503, 'temporarily_unavailable', inAMoment, { retryAfterSeconds: busySeconds });

/** This account is locked for this network, whichever endpoint saw the failures. */
export const tooManyAttempts = (
  retryAfterSeconds: number,
  reason: 'too_many_attempts' | 'too_many_from_address' = 'too_many_attempts',
): RetryLater => new RetryLater(429, 'too_many_attempts', tooMany[reason], { retryAfterSeconds });

/** In words. */
export const tooMany = {
  too_many_attempts: 'Too many wrong passwords or codes for this login from this address. Try again later.',
  too_many_from_address: 'Too many failed logins from this address. Try again later.',
};

/** The error for callers of a store: if the store is down, `temporarily_unavailable`, which the library knows how to answer. */
export function toStoreError(error: unknown, away = isAway(error)): unknown {
  return away && !(error instanceof TemporarilyUnavailable) ? new TemporarilyUnavailable(error) : error;
}
