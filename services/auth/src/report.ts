/**
 * Reports the gate’s work, where the work ends: one log line, Prometheus counters, the audit log, and (with EVENTS_ACCOUNT) an
 * event for RabbitMQ.
 */
import { createHmac } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { describeError, type Log } from '@gatepost/runtime/log';
import { Counter, httpDuration, type Registry } from '@gatepost/runtime/metrics';
import { isAway } from '@gatepost/runtime/store-errors';
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { LastLogins } from './accounts/last-login.ts';
import type { Subject } from './accounts/subject.ts';
import { isReported } from './actions/refusal.ts';
import type { Audit } from './audit.ts';
import { describeRefused } from './authorization/refused-request.ts';
import type { EventSink } from './event-sink.ts';
import type { AccountModel } from './generated/models.ts';
import { addressOf } from './http/head.ts';
import { routeOf, setRoute } from './http/route.ts';
import { traceIdOf } from './http/traced.ts';
import type { Interaction } from './interaction/interaction.ts';
import type { UpstreamFailure } from './upstream/failure.ts';

export type Report = {
  loggedIn(account: Pick<AccountModel, 'userId'>, clientId: string, ip: string, amr: string[]): void;
  loginFailed(
    where: Pick<Interaction, 'address'> & { client: { clientId: string } },
    reason:
      | 'wrong_password'
      | 'password_leaked'
      | 'wrong_code'
      | 'code_expired'
      | 'too_many_attempts'
      | 'too_many_from_address',
    subject: Subject,
  ): void;
  /** A sign-in at another provider did not come about. */
  upstreamFailed(
    where: Pick<Interaction, 'address'> & { client: { clientId: string } },
    what: { connection: string; strategy: string; failure: UpstreamFailure },
  ): void;
  /** A client stated a person’s network address and was not believed. */
  claimedAddressIgnored(clientId: string, reason: 'not_trusted' | 'no_address'): void;
  signedUp(account: AccountModel, clientId: string): void;
  consentGranted(userId: string, clientId: string, scopes: string[]): void;
  loggedOut(userId: string, clientId: string | undefined, ip: string): void;
  passwordChanged(userId: string, ip: string): void;
  emailVerified(account: AccountModel, ip: string): void;
  /** @param by whoever has done it themselves; an administrator's request is in the log already */
  userDeleted(userId: string, by?: { clientId: string; ip: string }): void;
  tokenRevoked(clientId: string, userId: string | undefined): void;
  clientCreated(clientId: string): void;
  clientUpdated(clientId: string): void;
};

export function makeReport(parts: {
  audit: Audit;
  sink: EventSink;
  log: Log;
  lastLogins: LastLogins;
  counters: Pick<Counters, 'logins'>;
  /** The key of the hash that replaces an unknown login. */
  loginKey: Buffer;
}): Report {
  const { audit, sink, log } = parts;
  // What was typed may be a password in the wrong field. The hash tells equal ones from others, but reveals nothing without the
  // key.
  const hashOf = (typed: string) => createHmac('sha256', parts.loginKey).update(typed).digest('base64url');
  return {
    loggedIn(account, clientId, ip, amr) {
      audit.add({ type: 's', clientId, userId: account.userId, ip, details: { amr } });
      sink.publish('user_logged_in', { user_id: account.userId, client_id: clientId, amr });
      parts.counters.logins.inc({ result: 'success' });
      log.info({ 'client.id': clientId, amr }, 'somebody logged in');
      parts.lastLogins.note(account.userId, ip);
    },
    loginFailed({ client, address }, reason, { userId, typed }) {
      const login_hash = userId === undefined ? hashOf(typed) : undefined;
      const whom = login_hash ? { login_hash } : { 'user.id': userId };
      audit.add({
        type: failedType(reason, userId !== undefined),
        clientId: client.clientId,
        userId,
        ip: address,
        details: { reason, ...(login_hash && { login_hash }) },
      });
      sink.publish('login_failed', { client_id: client.clientId, reason });
      parts.counters.logins.inc({ result: reason });
      log.info({ 'client.id': client.clientId, reason, ...whom }, 'a login failed');
    },
    upstreamFailed({ client: { clientId }, address: ip }, { connection, strategy, failure }) {
      const { reason, code, message, advice, detail } = failure;
      const details = {
        connection,
        strategy,
        error: code,
        reason,
        description: message,
        advice,
        ...(detail && { detail }),
      };
      audit.add({ type: 'f', clientId, ip, details });
      sink.publish('login_failed', { client_id: clientId, reason: `upstream_${reason}` });
      parts.counters.logins.inc({ result: `upstream_${reason}` });
      log.info({ 'client.id': clientId, connection, reason, detail }, 'a sign-in at another provider failed');
    },
    claimedAddressIgnored(clientId, reason) {
      log.info({ 'client.id': clientId, reason }, 'auth0-forwarded-for was ignored');
    },
    signedUp(account, clientId) {
      audit.add({ type: 'ss', clientId, userId: account.userId });
      sink.publish('user_signed_up', { user_id: account.userId, client_id: clientId, connection: account.connection });
      log.info({ 'client.id': clientId }, 'somebody signed up');
    },
    consentGranted(userId, clientId, scopes) {
      audit.add({ type: 'consent_granted', clientId, userId, details: { scopes } });
      sink.publish('consent_granted', { user_id: userId, client_id: clientId, scopes });
    },
    loggedOut(userId, clientId, ip) {
      audit.add({ type: 'slo', clientId, userId, ip });
    },
    passwordChanged(userId, ip) {
      audit.add({ type: 'scp', userId, ip });
      log.info('a password was changed');
    },
    emailVerified({ userId }, ip) {
      audit.add({ type: 'sv', userId, ip });
      log.info('an address was confirmed');
    },
    userDeleted(userId, by) {
      if (by) audit.add({ type: 'sdu', userId, ...by });
      sink.publish('user_deleted', { user_id: userId });
      log.info('an account was deleted');
    },
    tokenRevoked(clientId, userId) {
      audit.add({ type: 'srrt', clientId, userId });
      sink.publish('token_revoked', { client_id: clientId, user_id: userId ?? null });
    },
    clientCreated(clientId) {
      sink.publish('client_created', { client_id: clientId });
    },
    clientUpdated(clientId) {
      sink.publish('client_updated', { client_id: clientId });
    },
  };
}

/** Auth0's log types of failed logins. */
function failedType(reason: Parameters<Report['loginFailed']>[1], isKnown: boolean): string {
  switch (reason) {
    case 'too_many_attempts':
      return 'limit_wc';
    case 'too_many_from_address':
      return 'limit_mu';
    case 'password_leaked':
      return 'pwd_leak';
    case 'wrong_password':
      return isKnown ? 'fp' : 'fu';
    case 'wrong_code':
    case 'code_expired':
      return 'f';
  }
}

export type Counters = {
  tokens: Counter<'grant_type'>;
  interactions: Counter<'prompt' | 'result'>;
  logins: Counter<'result'>;
  refusedRequests: Counter<'error'>;
};

/** What providers count, all of a process together. */
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
      help: 'Pages people were sent to (started), and came back from (ended)',
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

const authorizing = new Set<string | undefined>(['authorization', 'resume']);

/** Codes of RFC 6749 section 4.1.2.1, OpenID Connect Core section 3.1.2.6 and RFC 8707. */
const refusalCodes = new Set([
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

/** An increase is seen only of what was there before. */
function zeroed(counter: Counters['refusedRequests']): Counters['refusedRequests'] {
  for (const error of refusalCodes) counter.inc({ error }, 0);
  return counter;
}

/** Observes a request from its head to the end of its response. The path and its query are never logged: they hold codes. */
export function makeRequestObserver(log: Log, registry: Registry) {
  const duration = httpDuration(registry);
  return (request: IncomingMessage, response: ServerResponse): void => {
    const startedAt = performance.now();
    response.once('close', () => {
      const route = routeOf(response);
      const status = response.writableFinished ? response.statusCode : 499;
      const seconds = (performance.now() - startedAt) / 1000;
      const method = request.method ?? '';
      duration.observe({ method, route, status }, seconds);
      const line = {
        trace_id: traceIdOf(response),
        'http.method': method,
        'http.route': route,
        'http.status': status,
        duration_ms: round(seconds * 1000),
      };
      if (status >= 500) log.error(line, 'request failed');
      else log.debug(line, 'request answered');
    });
  };
}

/** Auth0's log types of what a token was given for; others read `se`. */
const exchangeTypes: Record<string, string> = {
  client_credentials: 'seccft',
  authorization_code: 'seacft',
  refresh_token: 'sertft',
  password: 'sepft',
  'http://auth0.com/oauth/grant-type/password-realm': 'sepft',
  'http://auth0.com/oauth/grant-type/passwordless/otp': 'seoobft',
  'urn:ietf:params:oauth:grant-type:device_code': 'sede',
  'http://auth0.com/oauth/grant-type/mfa-otp': 'seotpft',
  'http://auth0.com/oauth/grant-type/mfa-oob': 'seoobft',
  'http://auth0.com/oauth/grant-type/mfa-recovery-code': 'sercft',
};

/** The same for refusals. Whoever fails to prove who he is, is in the log by his login already (`failedType`). */
const refusedTypes: Record<string, string> = {
  client_credentials: 'feccft',
  authorization_code: 'feacft',
  refresh_token: 'fertft',
  'urn:ietf:params:oauth:grant-type:device_code': 'fede',
  'http://auth0.com/oauth/grant-type/mfa-otp': 'feotpft',
  'http://auth0.com/oauth/grant-type/mfa-oob': 'feoobft',
  'http://auth0.com/oauth/grant-type/mfa-recovery-code': 'fercft',
};
/** No refusals, but what a device hears while it waits; and what is our trouble. */
const notRefused = new Set(['authorization_pending', 'slow_down', 'temporarily_unavailable']);

/** Says that a token request was answered: once each, where the answer is known. */
export type TokensIssued = (
  request: IncomingMessage,
  grantType: string,
  clientId: string | undefined,
  userId?: string | undefined,
) => void;

/**
 * Counts tokens and interactions and reports what went wrong inside the provider. Listeners never throw: the library calls them
 * before it answers, and would turn a good response into a 500.
 */
export function observeProvider(provider: Provider, parts: ObserverParts): { tokensIssued: TokensIssued } {
  provider.use(async (ctx, next) => {
    await next();
    const route = (ctx as KoaContextWithOIDC).oidc?.route;
    if (route) setRoute(ctx.res, route);
  });
  const tokensIssued = observeTokens(provider, parts);
  observeAuthorizations(provider, parts);
  observeChanges(provider, parts);
  observeFaults(provider, parts);
  return { tokensIssued };
}

type ObserverParts = { log: Log; counters: Counters; audit: Audit; report: Report };

function observeTokens(provider: Provider, { log, audit, counters: { tokens } }: ObserverParts): TokensIssued {
  const tokensIssued: TokensIssued = (request, grantType, clientId, userId) => {
    tokens.inc({ grant_type: grantType });
    audit.add({ type: exchangeTypes[grantType] ?? 'se', clientId, userId, ip: addressOf(request) });
    log.debug({ 'client.id': clientId, grant_type: grantType }, 'tokens issued');
  };
  provider.on('grant.success', (ctx) =>
    tokensIssued(ctx.req, String(ctx.oidc.params?.grant_type), ctx.oidc.client?.clientId, ctx.oidc.account?.accountId),
  );
  provider.on('authorization.success', (ctx, out) => {
    if ((out as { access_token?: unknown } | undefined)?.access_token) tokens.inc({ grant_type: 'implicit' });
    void ctx;
  });
  provider.on('grant.error', (ctx, error) => {
    const clientId = ctx.oidc.client?.clientId;
    log.info({ 'client.id': clientId, error_code: error.message, detail: detailOf(error) }, 'tokens refused');
    const type = refusedTypes[String(ctx.oidc.params?.grant_type)];
    if (type && clientId && !notRefused.has(error.message) && !isReported(error)) {
      const description = detailOf(error) ?? (error as { error_description?: string }).error_description;
      const details = {
        error: error.message,
        ...(description ? { description: String(description).slice(0, 300) } : {}),
      };
      audit.add({ type, clientId, ip: addressOf(ctx.req), details });
    }
  });
  return tokensIssued;
}

function observeAuthorizations(provider: Provider, { log, audit, counters }: ObserverParts): void {
  const { interactions, refusedRequests } = counters;
  provider.on('interaction.started', (_ctx, prompt) => interactions.inc({ prompt: prompt.name, result: 'started' }));
  provider.on('interaction.ended', (ctx) => {
    const interaction = ctx.oidc.entities.Interaction as
      | { prompt?: { name: string }; result?: { error?: string } }
      | undefined;
    const result = interaction?.result?.error ? 'refused' : 'completed';
    interactions.inc({ prompt: interaction?.prompt?.name ?? 'unknown', result });
  });
  const requestRefused = (ctx: KoaContextWithOIDC, error: Error) => {
    const refused = describeRefused(ctx, error);
    if (!refused) return;
    const { clientId, details } = refused;
    log.info({ 'client.id': clientId, ...details }, 'an authorization request was refused');
    audit.add({ type: 'f', clientId, ip: addressOf(ctx.req), details });
  };
  provider.on('authorization.error', (ctx, error) => {
    const code = (error as { error?: string }).error ?? '';
    refusedRequests.inc({ error: refusalCodes.has(code) ? code : 'other' });
    requestRefused(ctx, error);
  });
  provider.on('pushed_authorization_request.error', requestRefused);
}

function observeChanges(provider: Provider, { audit, report }: ObserverParts): void {
  provider.on('grant.revoked', (ctx) => {
    const clientId = ctx.oidc.client?.clientId;
    if (clientId) report.tokenRevoked(clientId, ctx.oidc.account?.accountId);
  });
  provider.on('registration_create.success', (ctx, { clientId }) => {
    const details = { operation: 'POST oidc/register', target: clientId };
    audit.add({ type: 'sapi', clientId, ip: addressOf(ctx.req), details });
    report.clientCreated(clientId);
  });
  provider.on('end_session.success', (ctx) => {
    const { session, client, params } = ctx.oidc;
    if (params?.logout && session?.accountId) report.loggedOut(session.accountId, client?.clientId, addressOf(ctx.req));
  });
}

function observeFaults(provider: Provider, { log, counters: { refusedRequests } }: ObserverParts): void {
  provider.on('backchannel.error', (_ctx, error, client) =>
    log.warn({ 'client.id': client.clientId, error: describeError(error) }, 'a back-channel logout was not delivered'),
  );
  // Koa reports here what escaped the library's own error handling.
  (provider as EventEmitter).on('error', (error: Error) =>
    log.error({ error: describeError(error) }, 'the provider failed'),
  );
  provider.on('server_error', (ctx, error) => {
    if (authorizing.has(ctx.oidc?.route))
      refusedRequests.inc({ error: isAway(error) ? 'temporarily_unavailable' : 'server_error' });
    if (isAway(error)) log.warn({ error: describeError(error) }, 'a store is away');
    else log.error({ error: describeError(error) }, 'the gate failed to answer');
  });
}

function detailOf(error: Error): unknown {
  return (error as { error_detail?: unknown }).error_detail;
}

function round(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10;
}
