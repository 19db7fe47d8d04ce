/** `/openapi.json`, and `/docs`, which shows it, without loading anything from elsewhere (packages/api-docs/src/viewer.ts). */
import { docsPage, docsPolicy, docsScript } from '@gatepost/api-docs/viewer';
import { baseUrlOf } from '@gatepost/runtime/issuer';
import express, { type RequestHandler, type Router } from 'express';
import { setRoute } from '../http/route.ts';
import { describeGate } from './describe.ts';

export function makeDescriptionRoutes({ issuer }: { issuer: string }): Router {
  const page = docsPage({ title: 'Gatepost gate', script: 'docs/viewer.js', description: 'openapi.json' });
  const router = express.Router({ strict: true, caseSensitive: true });
  const serve = (path: string, answer: RequestHandler) =>
    router.get(path, (request, response, next) => {
      setRoute(response, path);
      response.set('x-content-type-options', 'nosniff');
      return answer(request, response, next);
    });
  serve('/openapi.json', (_request, response) => {
    // Readable by anybody's tools: it contains nothing that the code does not say.
    response.set('access-control-allow-origin', '*');
    response.json({ ...describeGate(), servers: [{ url: baseUrlOf(issuer).replace(/\/$/, '') }] });
  });
  serve('/docs', (_request, response) => {
    response.set({ 'content-security-policy': docsPolicy, 'referrer-policy': 'no-referrer' }).type('html').send(page);
  });
  serve('/docs/viewer.js', (_request, response) => {
    response.type('text/javascript').send(docsScript());
  });
  return router;
}
