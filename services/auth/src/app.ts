/** The gate’s HTTP entry: the steps that each request passes through, in order. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { describeError, type Log } from '@gatepost/runtime/log';
import { isAway } from '@gatepost/runtime/store-errors';
import { type Certificate, createServerWith } from '@gatepost/runtime/tls';
import { tracing } from '@gatepost/runtime/tracing';
import express, { type ErrorRequestHandler, type Express, type RequestHandler, type Router } from 'express';
import { errors, type Provider } from 'oidc-provider';
import type { FastPath } from './grants/fast-path.ts';
import { ApiError } from './http/api-error.ts';
import { isForPrograms } from './http/for-programs.ts';
import { formAsQuery, formEndpoints } from './http/form-as-query.ts';
import { queryOf } from './http/form-fields.ts';
import { type HeadRules, makeHeadNormalizer } from './http/head.ts';
import { checkedJson, jsonAsForm } from './http/json-body.ts';
import { ownForms, refuseForeignForms } from './http/own-form.ts';
import { sendPage } from './http/page.ts';
import { boundParameters } from './http/parameter-size.ts';
import { protocolEndpoints, type ReadRequest, readPlainBody, takePlainBody } from './http/plain-body.ts';
import { queryTokenAsHeader } from './http/query-token.ts';
import { setRoute } from './http/route.ts';
import { type Run, trace } from './http/traced.ts';
import { checkForm, wellFormed } from './http/well-formed.ts';
import type { MakeCommonContext } from './interaction/common-context.ts';
import { ForeignForm } from './interaction/interaction.ts';
import { linkBack, rememberedClient } from './interaction/way-back.ts';
import { aliasStructuredToken, aliasTokenInForm } from './library/tokens/spelling.ts';
import { makeProblemHandler } from './management/management.ts';
import type { makeRequestObserver } from './observe.ts';
import { TemporarilyUnavailable } from './stores-away.ts';

export type AppParts = { provider: Provider; commonContext: MakeCommonContext; routers: Router[]; log: Log };

/** Answers requests. The most frequent ones for the library go straight to it, all others through the app. */
export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

export function makeAnswer(parts: AppParts): Answer {
  const app = makeApp(parts);
  const library = parts.provider.callback();
  return (request, response) => {
    if (isForLibrary(request)) library(request, response);
    else app(request, response);
  };
}

/**
 * Whether the app would only pass the request on: sign-ins, userinfo, and posts to the protocol's endpoints whose body has been read.
 * Malformed requests go to the app, which refuses them. Leaves the body checked, as a form.
 */
function isForLibrary(request: ReadRequest): boolean {
  const { method, url = '', headers, body } = request;
  try {
    if (method === 'GET' && headers['content-type'] === undefined) {
      if (url === '/userinfo') return true;
      if (!url.startsWith('/authorize?')) return false;
      checkForm(url.slice('/authorize?'.length));
      return true;
    }
    if (typeof body !== 'string') return false;
    const hasToken = tokenEndpoints.includes(url);
    takePlainBody(request, body, hasToken);
    if (hasToken) aliasStructuredToken(request.body as Record<string, unknown>);
    return true;
  } catch {
    return false; // the app refuses it
  }
}

/** Where a token is submitted to be looked at or revoked. */
const tokenEndpoints = ['/oauth/revoke', '/oauth/introspect'];

function makeApp(parts: AppParts): Express {
  const app = express();
  app.disable('x-powered-by');
  app.set('trust proxy', true); // the head is normalized: it contains exactly one address
  app.set('query parser', 'simple');
  app.use(ownForms, refuseForeignForms);
  app.use(wellFormed);
  app.use(protocolEndpoints, jsonAsForm);
  app.use('/oidc/register', checkedJson);
  app.use(tokenEndpoints, aliasTokenInForm);
  app.get('/userinfo', queryTokenAsHeader);
  app.use('/oidc/logout', boundParameters);
  app.post(formEndpoints, formAsQuery);
  app.get('/activate', givenOnce);
  app.post('/activate', restartWithoutSession(parts.provider));
  app.get('/activate/:uid', restartWithoutSession(parts.provider));
  for (const router of parts.routers) app.use(router);
  app.use(parts.provider.callback()); // answers everything else, 404s included
  app.use('/api/v2', makeProblemHandler(parts.log));
  app.use(makeErrorHandler(parts));
  return app;
}

/**
 * The HTTP server. Before anything else it normalizes the head and starts the clock. The machines' most frequent requests are answered
 * before the app, where possible.
 */
export function makeServer(
  answer: Answer,
  parts: {
    head: HeadRules;
    observe: ReturnType<typeof makeRequestObserver>;
    fastPath: FastPath;
    limits: { headMs: number; requestMs: number };
    /** Whether browsers are told to use only https (RFC 6797). */
    strict: boolean;
    /** If given, the server speaks https. */
    certificate: Certificate | undefined;
  },
): Server {
  const { observe, fastPath, limits, strict } = parts;
  const normalize = makeHeadNormalizer(parts.head);
  // Head and body of a request must arrive in time (against slowloris), and idle connections are closed. By default Node checks only
  // every 30 seconds.
  const options = {
    headersTimeout: limits.headMs,
    requestTimeout: Math.max(limits.headMs, limits.requestMs),
    connectionsCheckingInterval: Math.min(1_000, limits.headMs),
    keepAliveTimeout: 65_000,
  };
  return createServerWith(parts.certificate, options, (request, response) => {
    observe(request, response);
    if (strict) response.setHeader('strict-transport-security', 'max-age=31536000');
    normalize(request);
    const run = tracing ? trace(tracing, request, response) : atOnce;
    readPlainBody(request, () => run(() => fastPath(request, response, () => answer(request, response))));
  });
}

const atOnce: Run = (work) => work();

/** The library would take a repeated code for a string. @throws ApiError 400 */
const givenOnce: RequestHandler = (request, _response, next) => {
  queryOf(request);
  next();
};

/**
 * If a device code is posted, or a login for one ends, without the session in which its form was shown, shows the form again, where the
 * library would fail.
 */
function restartWithoutSession(provider: Provider): RequestHandler {
  return async (request, response, next) => {
    const session = await provider.Session.get(provider.createContext(request, response));
    // A forged cookie, or one whose session is gone, counts as none: only a stored session has an expiry.
    if (typeof session.exp === 'number') next();
    else response.redirect(request.method === 'POST' ? 303 : 302, '/activate');
  };
}

/** People get a page, programs JSON in OAuth's form; neither learns what failed inside. */
function makeErrorHandler({ provider, commonContext, log }: AppParts): ErrorRequestHandler {
  return async (error, request, response, next) => {
    if (response.headersSent) return next(error);
    const known = publicError(error, log);
    const { retryAfterSeconds } = error as { retryAfterSeconds?: number };
    if (retryAfterSeconds !== undefined) response.set('retry-after', String(retryAfterSeconds));
    const html = request.accepts(['json', 'html']) === 'html' && !isForPrograms(request);
    if (!html) {
      response
        .status(known.status)
        .set('cache-control', 'no-store')
        .json({ error: known.error, error_description: known.description });
      return;
    }
    const context = { acceptLanguage: request.get('accept-language') };
    if (error instanceof errors.SessionNotFound) {
      setRoute(response, 'stale');
      const client = await rememberedClient(provider, provider.createContext(request, response)).catch(() => undefined);
      const back = linkBack(client);
      return sendPage(
        response,
        'stale',
        { ...(await commonContext({ ...context, client })), ...(back ? { back } : {}) },
        400,
      );
    }
    // The page's context may itself fail to load; then the page is shown without the tenant’s name.
    const shown = await commonContext(context).catch(() => context);
    sendPage(response, 'error', { ...shown, error: known.error, description: known.description }, known.status);
  };
}

function publicError(error: unknown, log: Log): { status: number; error: string; description: string } {
  if (isAway(error)) {
    const { error_description } = new TemporarilyUnavailable(error);
    log.warn({ error: describeError(error) }, 'a store is away');
    return { status: 503, error: 'temporarily_unavailable', description: error_description ?? '' };
  }
  if (error instanceof ApiError)
    return { status: error.status, error: String(error.body.error), description: error.message };
  if (error instanceof ForeignForm)
    return { status: 403, error: 'access_denied', description: 'this form belongs to another sign-in' };
  if (error instanceof errors.OIDCProviderError && error.expose)
    return { status: error.statusCode, error: error.error, description: error.error_description ?? error.message };
  const status = Number((error as { status?: unknown }).status ?? 500);
  if (status >= 400 && status < 500)
    return { status, error: 'invalid_request', description: 'the request is malformed' };
  log.error({ error: describeError(error) }, 'the gate failed to answer');
  return { status: 500, error: 'server_error', description: 'something went wrong on our side' };
}
