/**
 * `/console/`: the built pages of `packages/console`, for browsers. They are an ordinary client of this API and of the gate, and are told only
 * where these are.
 */
import { existsSync, readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { baseUrlOf } from '@gatepost/runtime/issuer';
import express, { type RequestHandler, type Router } from 'express';
import { notFound } from '../http/errors.ts';

export type ConsoleSettings = { issuer: string; clientId: string; audience: string };

/** @returns undefined when the pages were not built. */
export function makeConsole({ issuer, clientId, audience }: ConsoleSettings): Router | undefined {
  const folder = path.dirname(fileURLToPath(import.meta.resolve('@gatepost/console/package.json')));
  const index = path.join(folder, 'dist/site/index.html');
  if (!existsSync(index)) return undefined;
  const page = withSettings(readFileSync(index, 'utf8'), { issuer, clientId, audience });
  const router = express.Router({ strict: true, caseSensitive: true });
  router.get('/console', (_request, response) => response.redirect(308, '/console/'));
  router.use('/console', standingHeaders(new URL(issuer).origin));
  // Their names change with their content.
  router.use('/console/assets', compressed, express.static(path.join(path.dirname(index), 'assets'), files), () => {
    throw notFound();
  });
  // Every address is the same page, which reads the address itself.
  router.get('/console/{*page}', (_request, response) => {
    response.type('html').send(page);
  });
  return router;
}

/**
 * In the page itself: a separate request for them would take longer. The console adds paths to the issuer, whose own name may have no slash
 * at its end.
 */
export function withSettings(page: string, { issuer, clientId, audience }: ConsoleSettings): string {
  const written = JSON.stringify({ issuer: baseUrlOf(issuer), client_id: clientId, audience })
    .replaceAll('&', '&amp;')
    .replaceAll('"', '&quot;');
  return page.replace('<meta name="gatepost" content="" />', () => `<meta name="gatepost" content="${written}" />`);
}

/** The build leaves a compressed copy beside each script and style. */
const compressed: RequestHandler = (request, response, next) => {
  const type = /\.(js|css)$/.exec(request.path)?.[1];
  if (type !== undefined) {
    response.vary('Accept-Encoding');
    if (request.acceptsEncodings('gzip')) request.url = `${request.path}.gz`;
  }
  next();
};

const files = {
  index: false,
  redirect: false,
  setHeaders(response: ServerResponse, file: string) {
    response.setHeader('Cache-Control', 'public, max-age=31536000, immutable');
    if (!file.endsWith('.gz')) return;
    response.setHeader('Content-Encoding', 'gzip');
    response.setHeader('Content-Type', `text/${file.endsWith('.css.gz') ? 'css' : 'javascript'}; charset=utf-8`);
  },
};

/** Only what is served here may run or load, and only this API and the gate may be contacted. */
function standingHeaders(gate: string): RequestHandler {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src 'self' ${gate}`,
    "form-action 'none'",
    // The gate's pages in preview (api/v2/branding/previews).
    `frame-src ${gate}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  return (_request, response, next) => {
    response.removeHeader('Access-Control-Allow-Origin');
    response.set({
      'Content-Security-Policy': policy,
      'Cache-Control': 'no-cache',
      'Cross-Origin-Opener-Policy': 'same-origin',
    });
    next();
  };
}
