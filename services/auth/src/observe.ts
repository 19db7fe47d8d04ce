/** Observes requests and the library from outside: logs, counts, and writes to the audit log. */
import type { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { describeError, type Log } from '@gatepost/runtime/log';
import { httpDuration, type Registry } from '@gatepost/runtime/metrics';
import { isAway } from '@gatepost/runtime/store-errors';
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import { isReported } from './actions/refusal.ts';
import type { Audit } from './audit.ts';
import { describeRefusedRequest } from './authorization/refused-request.ts';
import { type Counters, refusalCodes } from './counters.ts';
import { addressOf } from './http/head.ts';
import { routeOf, setRoute } from './http/route.ts';
import { traceIdOf } from './http/traced.ts';
import { changeAnswers } from './library/middleware.ts';
import type { LogType } from './log-types.ts';
import type { Report } from './report.ts';

/** Observes a request from its head to the end of its response. The path and query are never logged: they contain codes. */
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

const authorizing = new Set<string | undefined>(['authorization', 'resume']);

/** Auth0's log types by the grant type of the token request; others are logged as `se`. */
const exchangeTypes: Record<string, LogType> = {
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

/** The same for refusals. Somebody who failed to authenticate is already in the log under their login (`failedType`). */
const refusedTypes: Record<string, LogType> = {
  client_credentials: 'feccft',
  authorization_code: 'feacft',
  refresh_token: 'fertft',
  'urn:ietf:params:oauth:grant-type:device_code': 'fede',
  'http://auth0.com/oauth/grant-type/mfa-otp': 'feotpft',
  'http://auth0.com/oauth/grant-type/mfa-oob': 'feoobft',
  'http://auth0.com/oauth/grant-type/mfa-recovery-code': 'fercft',
};
/** Not refusals: answers to a polling device, and outages of ours. */
const expectedErrors = new Set(['authorization_pending', 'slow_down', 'temporarily_unavailable']);

/** Reports a successful token request, exactly once, where its outcome is known. */
export type TokensIssued = (
  request: IncomingMessage,
  grantType: string,
  clientId: string | undefined,
  userId?: string | undefined,
) => void;

/**
 * Counts tokens and interactions, and reports failures inside the provider. Listeners never throw: the library calls them before it
 * responds, and would turn a good response into a 500.
 */
export function observeProvider(provider: Provider, parts: ObserverParts): { tokensIssued: TokensIssued } {
  changeAnswers(provider, 'all', (ctx) => {
    const route = ctx.oidc?.route;
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
    if (type && clientId && !expectedErrors.has(error.message) && !isReported(error)) {
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
    const refused = describeRefusedRequest(ctx, error);
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
    if (clientId) report.tokenRevoked(clientId, ctx.oidc.account?.accountId, addressOf(ctx.req));
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
  // Koa reports errors here that the library's own error handling missed.
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
