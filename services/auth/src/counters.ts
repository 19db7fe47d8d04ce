/** The providers' counters, summed over the process. */
import { Counter, type Registry } from '@gatepost/runtime/metrics';

export type Counters = {
  tokens: Counter<'grant_type'>;
  interactions: Counter<'prompt' | 'result'>;
  logins: Counter<'result'>;
  refusedRequests: Counter<'error'>;
};

export function openCounters(registry: Registry): Counters {
  return {
    tokens: new Counter({
      name: 'auth_tokens_issued_total',
      help: 'Token responses by grant type',
      labelNames: ['grant_type'],
      registers: [registry],
    }),
    interactions: new Counter({
      name: 'auth_interactions_total',
      help: 'Pages that people were sent to (started) and came back from (ended)',
      labelNames: ['prompt', 'result'],
      registers: [registry],
    }),
    refusedRequests: zeroed(
      new Counter({
        name: 'auth_authorizations_refused_total',
        help: 'Authorization requests that ended in an error, by its code; the answer is a redirect like any other',
        labelNames: ['error'],
        registers: [registry],
      }),
    ),
    logins: new Counter({
      name: 'auth_logins_total',
      help: 'Logins of people: success, or why one failed',
      labelNames: ['result'],
      registers: [registry],
    }),
  };
}

/** Codes of RFC 6749 section 4.1.2.1, OpenID Connect Core section 3.1.2.6 and RFC 8707. */
export const refusalCodes = new Set([
  'access_denied',
  'account_selection_required',
  'consent_required',
  'interaction_required',
  'invalid_request',
  'invalid_request_object',
  'invalid_request_uri',
  'invalid_scope',
  'invalid_target',
  'login_required',
  'server_error',
  'temporarily_unavailable',
  'unauthorized_client',
  'unsupported_response_type',
]);

/** Prometheus sees an increase only of a series that already exists. */
function zeroed(counter: Counters['refusedRequests']): Counters['refusedRequests'] {
  for (const error of refusalCodes) counter.inc({ error }, 0);
  return counter;
}
