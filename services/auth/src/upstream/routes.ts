/**
 * `/login/callback`, Auth0's address, where providers answer. It belongs to no interaction, so that a provider needs only one address;
 * the browser is sent on to where its cookie proves that it is the one that left. With `own_callback` a connection has its own address
 * below it, and its answer is rejected at any other.
 */
import express, { type Request, type Response, type Router } from 'express';
import { errors, type Provider } from 'oidc-provider';
import { fieldsOf, queryOf } from '../http/form-fields.ts';
import { seeOther } from '../http/page.ts';
import { setRoute } from '../http/route.ts';
import type { Linking } from './link.ts';
import { callbackFields } from './sign-in.ts';
import type { Upstream } from './upstream.ts';

export function makeUpstreamRoutes({
  upstream,
  linking,
  provider,
}: {
  upstream: Upstream;
  linking: Linking;
  provider: Provider;
}): Router {
  const router = express.Router();
  const paths = ['/login/callback', '/login/callback/:connection'];
  router.get(paths, async (request, response) => {
    setRoute(response, '/login/callback');
    const answer = queryOf(request);
    const attempt = await upstream.attempts.find(answer.state ?? '');
    if (!attempt || pathOf(attempt.redirectUri) !== request.path)
      throw new errors.SessionNotFound('no sign-in waits for this answer');
    if (attempt.for.kind === 'link') return seeOther(response, await linking.finish(request, response, provider));
    redirectWithAnswer(response, `/interaction/${attempt.for.uid}/callback`, answer);
  });
  // A form on another site comes without our cookies; the GET that follows has them (Apple answers this way).
  router.post(paths, (request: Request, response: Response) => {
    setRoute(response, '/login/callback');
    redirectWithAnswer(response, request.path, fieldsOf(request));
  });
  return router;
}

const pathOf = (uri: string) => new URL(uri).pathname;

function redirectWithAnswer(response: Response, path: string, answer: Record<string, string | undefined>): void {
  const given = callbackFields.flatMap((name) => (answer[name] === undefined ? [] : [[name, answer[name]] as const]));
  seeOther(response, `${path}?${new URLSearchParams(given as [string, string][])}`);
}
