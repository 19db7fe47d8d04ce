/** What a client hears while PostgreSQL or Redis is away: come back later, not that we are broken: 503. */
import { isAway } from '@gatepost/runtime/store-errors';
import { errors } from 'oidc-provider';

/** Whoever hears it is to ask again later: 503, or 429 if it is about who asks. The library answers it like an error of its own. */
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

  /** The error, with its header (RFC 9110 section 10.2.3). */
  withHeader(ctx: { set(name: string, value: string): void }): this {
    ctx.set('retry-after', String(this.retryAfterSeconds));
    return this;
  }
}

const inAMoment = 'the service is temporarily unavailable, try again in a moment';

export class TemporarilyUnavailable extends RetryLater {
  constructor(cause: unknown) {
    super(503, 'temporarily_unavailable', inAMoment, { cause });
  }
}

/** What waits for a password to be checked has had its turn then. */
export const busySeconds = 2;

/**
 * More passwords wait to be checked than is good: whoever comes now is sent away rather than kept waiting.
 * @param excess because of all the others that came from the same network
 */
export const busy = (excess = false): RetryLater =>
  excess
    ? new RetryLater(429, 'too_many_requests', 'too many logins at once from this address, try again in a moment', {
        retryAfterSeconds: busySeconds,
      })
    : new RetryLater(503, 'temporarily_unavailable', inAMoment, { retryAfterSeconds: busySeconds });

/** This account is closed to this address, whichever door its failures came by. */
export const tooManyAttempts = (retryAfterSeconds: number): RetryLater =>
  new RetryLater(
    429,
    'too_many_attempts',
    'Too many wrong passwords or codes for this login from this address. Try again later.',
    { retryAfterSeconds },
  );

/** A store's error as those who asked it hear it: one that is away is `temporarily_unavailable`, which the library knows how to answer. */
export function heard(error: unknown, away = isAway(error)): unknown {
  return away && !(error instanceof TemporarilyUnavailable) ? new TemporarilyUnavailable(error) : error;
}
