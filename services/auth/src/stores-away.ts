/** What a client hears while PostgreSQL or Redis is away: come back later, not that we are broken: 503. */
import { isAway } from '@gatepost/runtime/store-errors';
import { errors } from 'oidc-provider';

export class TemporarilyUnavailable extends errors.OIDCProviderError {
  constructor(cause: unknown) {
    super(503, 'temporarily_unavailable', { cause: cause as Error });
    this.error_description = 'the service is temporarily unavailable, try again in a moment';
    this.expose = true;
  }
}

/** What waits for a password to be checked has had its turn then. */
export const busySeconds = 2;

/**
 * More passwords wait to be checked than is good: whoever comes now is sent away rather than kept waiting. `excess`: because of
 * all the others that came from his own network.
 */
export class Busy extends errors.OIDCProviderError {
  readonly retryAfterSeconds = busySeconds;
  constructor(excess = false) {
    super(excess ? 429 : 503, excess ? 'too_many_requests' : 'temporarily_unavailable');
    this.error_description = excess
      ? 'too many logins at once from this address, try again in a moment'
      : 'the service is temporarily unavailable, try again in a moment';
    this.expose = true;
  }
}

/** A store's error as those who asked it hear it: one that is away is `temporarily_unavailable`, which the library knows how to answer. */
export function heard(error: unknown, away = isAway(error)): unknown {
  return away && !(error instanceof TemporarilyUnavailable) ? new TemporarilyUnavailable(error) : error;
}
