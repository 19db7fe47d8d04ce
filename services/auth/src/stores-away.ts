/** What a client hears while PostgreSQL or Redis is away: come back later, not that we are broken: 503. */
import { isRedisRefusal } from '@gatepost/runtime/redis';
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

// PostgreSQL classes 08 (connection), 53 (resources), 57P0x (shutting down); Prisma P1001, P1002, P1008, P1017, P2024.
const sqlAway = /^(08\d\w{2}|53\w{3}|57P0\d|57014|P1001|P1002|P1008|P1017|P2024)$/;
const socketAway = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
]);
// Errors that their libraries give no code.
const messages =
  /Connection is closed|Command timed out|Command aborted due to connection close|Connection terminated|timeout exceeded when trying to connect|Stream isn't writeable|max retries per request|Can't reach database|Server has closed the connection|Query read timeout/i;

/** Whether the error, or what caused it, is a store that cannot be reached, or that cannot do its work now. */
export function isStoreAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (isRedisRefusal(error)) return true;
  const { code } = error as { code?: unknown };
  if (typeof code === 'string' && (sqlAway.test(code) || socketAway.has(code))) return true;
  if (messages.test(error.message)) return true;
  if (error instanceof AggregateError && error.errors.some(isStoreAway)) return true;
  return error.cause !== undefined && isStoreAway(error.cause);
}

/** Runs a store's work; a store that is away becomes `temporarily_unavailable`. */
export async function asking<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw isStoreAway(error) ? new TemporarilyUnavailable(error) : error;
  }
}
