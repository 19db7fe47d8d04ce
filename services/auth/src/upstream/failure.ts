/** Why a sign-in at another provider failed: what the application is told, and what an administrator reads in the log. */
import { types } from 'node:util';
import * as oidc from 'openid-client';

/** Codes of RFC 6749 section 4.1.2.1. */
type Code = 'access_denied' | 'server_error' | 'temporarily_unavailable';

export class UpstreamFailure extends Error {
  override name = 'UpstreamFailure';
  readonly code: Code;
  /** From a closed set, for metrics and searches. */
  readonly reason: Reason;
  /** What to do about it. */
  readonly advice: string;
  /** The provider's own words, for the log only. */
  readonly detail: string | undefined;

  constructor(reason: Reason, options: { cause?: unknown; detail?: string | undefined } = {}) {
    const { code, what, advice } = reasons[reason];
    super(what, { cause: options.cause });
    this.code = code;
    this.reason = reason;
    this.advice = advice;
    this.detail = options.detail?.slice(0, 300);
  }
}

export type Reason = keyof typeof reasons;

const support = 'Try again, or sign in another way';

const reasons = {
  refused_there: {
    code: 'access_denied',
    what: 'the provider did not let the person in, or they changed their mind',
    advice: support,
  },
  blocked: { code: 'access_denied', what: 'user is blocked', advice: 'An administrator can unblock the user' },
  no_signup: {
    code: 'access_denied',
    what: 'this person has no account, and nobody may sign up',
    advice: 'An administrator can open sign-up (settings.allow_signup)',
  },
  not_enabled: {
    code: 'access_denied',
    what: 'the connection is not enabled for this application',
    advice: 'An administrator can enable it (enabled_clients of the connection)',
  },
  taken: {
    code: 'access_denied',
    what: 'the account of this person belongs to another connection',
    advice: 'An administrator can delete or link the other account',
  },
  other_directory: {
    code: 'access_denied',
    what: 'the directory of this person is not one of those that may sign in here',
    advice: 'An administrator can allow it (options.allowed_tenants of the connection)',
  },
  not_anew: {
    code: 'access_denied',
    what: 'the provider did not ask the person to sign in again, or does not say when they did',
    advice:
      'Sign out there and try again. An administrator can check that the provider heeds max_age and gives auth_time',
  },
  unreachable: {
    code: 'temporarily_unavailable',
    what: 'the provider did not answer',
    advice:
      'Try again in a moment. An administrator can check the addresses of the connection, and that this server may reach them (OUTBOUND_ALLOWED_NETWORKS for private ones)',
  },
  slow: {
    code: 'temporarily_unavailable',
    what: 'the provider did not answer in time',
    advice: 'Try again in a moment',
  },
  out_of_order: {
    code: 'temporarily_unavailable',
    what: 'the provider has a problem of its own',
    advice: 'Try again in a moment',
  },
  misconfigured: {
    code: 'server_error',
    what: 'the connection is not set up',
    advice: 'An administrator must complete its options',
  },
  bad_credentials: {
    code: 'server_error',
    what: 'the provider does not accept our client credentials',
    advice: 'An administrator must correct client_id and client_secret of the connection',
  },
  bad_code: {
    code: 'server_error',
    what: 'the provider does not accept its own code',
    advice:
      'Try again. If that does not help, an administrator must check that the callback address is registered there for this client_id',
  },
  bad_request: {
    code: 'server_error',
    what: 'the provider refuses our request',
    advice: 'An administrator must check scope, upstream_params and the registered callback address',
  },
  mixed_up: {
    code: 'server_error',
    what: 'the answer came from another provider than the one that was asked',
    advice: 'Start again. If that does not help, an administrator must check the issuer of the connection',
  },
  bad_metadata: {
    code: 'server_error',
    what: 'the provider’s metadata is not usable, or is of another issuer',
    advice: 'An administrator must check discovery_url and issuer of the connection',
  },
  bad_token: {
    code: 'server_error',
    what: 'the provider’s ID token is not valid',
    advice: 'An administrator must check issuer and client_id of the connection, and the clocks of both servers',
  },
  bad_answer: {
    code: 'server_error',
    what: 'the provider’s answer is not usable, or not signed by its keys',
    advice: 'An administrator must check the addresses of the connection',
  },
  too_large: {
    code: 'server_error',
    what: 'the provider’s answer is too large',
    advice: 'An administrator can ask for fewer scopes and claims there',
  },
  bad_profile: {
    code: 'server_error',
    what: 'the provider does not say who signed in',
    advice: 'An administrator must check userInfoURL and the mapping of its fields (user_id)',
  },
} as const satisfies Record<string, { code: Code; what: string; advice: string }>;

/** For the application: only what RFC 6749 allows in an `error_description`. */
export function descriptionOf(failure: UpstreamFailure, connection: string): string {
  const text = `Sign-in with ${connection} failed: ${failure.message}. ${failure.advice}.`;
  return text
    .replaceAll('’', "'")
    .replace(/[^\x20-\x7e]/g, '?')
    .replace(/["\\]/g, "'");
}

type ErrorWithCode = Error & { code?: unknown };

/** The UpstreamFailure for an error in the client library or below it. Other errors are returned as they are: they are ours. */
export function failureOf(error: unknown): unknown {
  const chain = causes(error);
  const own = chain.find((each) => each instanceof UpstreamFailure);
  if (own) return own;
  const failed = (reason: Reason) => new UpstreamFailure(reason, { cause: error, detail: detailOf(chain) });
  if (error instanceof oidc.AuthorizationResponseError) return ofAnswer(error.error, failed);
  if (error instanceof oidc.ResponseBodyError) return ofTokenEndpoint(error.error, error.status, failed);
  if (error instanceof oidc.WWWAuthenticateChallengeError)
    return failed(error.status === 401 ? 'bad_credentials' : 'bad_answer');
  if (chain.some(({ name }) => name === 'TimeoutError' || name === 'AbortError')) return failed('slow');
  const codes = chain.map(({ code }) => String(code));
  if (codes.some((code) => code === 'OAUTH_TIMEOUT' || code === 'OAUTH_ABORT')) return failed('slow');
  if (codes.some((code) => connectionErrors.has(code))) return failed('unreachable');
  if (codes.some((code) => tokenErrors.has(code))) return failed('bad_token');
  const isRemote = codes.some((code) => code.startsWith('OAUTH_')) || error instanceof oidc.ClientError;
  return isRemote ? failed(statusOf(chain) >= 500 ? 'out_of_order' : 'bad_answer') : error;
}

/** The status of the answer that the library did not understand. */
function statusOf(chain: ErrorWithCode[]): number {
  return Math.max(0, ...chain.map(({ cause }) => Number((cause as { status?: unknown } | undefined)?.status) || 0));
}

const connectionErrors = new Set([
  'EBLOCKED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EAI_AGAIN',
  'ENOTFOUND',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EPIPE',
  'ETIMEDOUT',
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'HPE_INVALID_CONSTANT',
]);

const tokenErrors = new Set([
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
  'OAUTH_KEY_SELECTION_FAILED',
  'OAUTH_UNSUPPORTED_OPERATION',
]);

/** Error codes of OpenID Connect Core section 3.1.2.6 and RFC 6749 section 4.1.2.1. */
function ofAnswer(code: string, failed: (reason: Reason) => UpstreamFailure): UpstreamFailure {
  switch (code) {
    case 'temporarily_unavailable':
    case 'server_error':
      return failed('out_of_order');
    case 'invalid_request':
    case 'invalid_scope':
    case 'unauthorized_client':
    case 'unsupported_response_type':
    case 'redirect_uri_mismatch': // GitHub's
    case 'application_suspended':
      return failed('bad_request');
    default:
      return failed('refused_there');
  }
}

function ofTokenEndpoint(code: string, status: number, failed: (reason: Reason) => UpstreamFailure): UpstreamFailure {
  switch (code) {
    case 'invalid_client':
    case 'unauthorized_client':
    case 'incorrect_client_credentials': // GitHub's
      return failed('bad_credentials');
    case 'invalid_grant':
    case 'bad_verification_code': // GitHub's
    case 'redirect_uri_mismatch':
      return failed('bad_code');
    default:
      return failed(status >= 500 ? 'out_of_order' : 'bad_request');
  }
}

/** Not `instanceof`: under a test runner Node's own errors come from another realm. */
function causes(error: unknown): ErrorWithCode[] {
  const chain: ErrorWithCode[] = [];
  for (let each = error; types.isNativeError(each) && chain.length < 6; each = each.cause) chain.push(each);
  return chain;
}

/** Messages and codes only, never the answer itself, which may hold a token. */
function detailOf(chain: ErrorWithCode[]): string {
  const said = chain.map((each) => {
    const { error, error_description: description } = each as { error?: unknown; error_description?: unknown };
    const words = [error, description].filter((text) => typeof text === 'string').join(': ');
    return words || each.message;
  });
  return said.join('; ').replaceAll('\0', '').toWellFormed();
}
