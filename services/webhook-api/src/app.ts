/** The Express application: request id and log, standing headers, authentication, the routes, and 404 for the rest. */
import type { ReadyCheck } from '@gatepost/runtime/checks';
import type { Log } from '@gatepost/runtime/log';
import type { Registry } from '@gatepost/runtime/metrics';
import express, { type Express } from 'express';
import { authenticate } from './access/authenticate.ts';
import type { CheckToken } from './access/token.ts';
import { answerError } from './http/answer-error.ts';
import { makeBaseOf } from './http/base.ts';
import { notFound } from './http/errors.ts';
import type { Limits } from './http/limits.ts';
import { requestLog } from './http/request-log.ts';
import { type Shared, serve } from './http/serve.ts';
import { makeStandingHeaders } from './http/standing-headers.ts';
import { makeUnread } from './http/unread.ts';
import { demandUserAgent } from './http/user-agent.ts';
import { makeStartPage } from './meta/start-page.ts';
import type { Parts } from './parts.ts';
import { routes } from './routes.ts';

export function makeApp(options: {
  log: Log;
  registry: Registry;
  checkToken: CheckToken;
  limits: Limits;
  parts: Parts;
  trustedProxies: string[];
  /** Where clients reach the API; undefined: on this machine, at its port. */
  ownUrl: string | undefined;
  issuer: string;
  audience: string;
  /** Undefined: no console is served. */
  console: express.Router | undefined;
  /** The API is ready only while these answer. */
  stores: Record<string, ReadyCheck>;
}): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag').set('query parser', 'simple');
  app.set('trust proxy', options.trustedProxies);
  app.use(requestLog(options.log, options.registry));
  app.use(makeStandingHeaders(options.ownUrl));
  app.use(demandUserAgent);
  const baseOf = makeBaseOf(options.ownUrl);
  if (options.console) app.use(options.console);
  app.get('/', makeStartPage({ ...options, baseOf }));
  app.use(async (request, response, next) => {
    const check = () => authenticate(request, options.checkToken);
    response.locals.authenticate = check;
    const token = await check();
    response.locals.token = token;
    if (token) response.setHeader('X-OAuth-Scopes', token.scopesHeader);
    next();
  });
  const router = makeRouter({ ...options, routes, unread: makeUnread(), baseOf });
  app.use('/api/v3', router);
  app.use(router);
  app.use(() => {
    throw notFound();
  });
  app.use(answerError(options.log, baseOf));
  return app;
}

/** With a trailing slash it is a different path, as on GitHub. */
function makeRouter(shared: Shared): express.Router {
  const router = express.Router({ strict: true, caseSensitive: true });
  for (const route of routes) {
    const path = route.path.replace(/\{(\w+)\}/g, ':$1');
    router[route.method](path, serve(route, shared));
  }
  return router;
}
