/**
 * `/console/`: the pages that `packages/console` is built to, for a browser. They are a client of this API and of the gate like any other; all
 * that they are told is where these are.
 */
import { existsSync, readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import express, { type RequestHandler, type Router } from 'express';
import { notFound } from '../http/errors.ts';

export type ConsoleSettings = { issuer: string; clientId: string; audience: string };

/** @returns undefined when the pages were not built. */
export function makeConsole({ issuer, clientId, audience }: ConsoleSettings): Router | undefined {
  const folder = path.dirname(fileURLToPath(import.meta.resolve('@gatepost/console/package.json')));
  const index = path.join(folder, 'dist/site/index.html');
  if (!existsSync(index)) return undefined;
  const page = withSettings(readFileSync(index, 'utf8'), { issuer, client_id: clientId, audience });
  const router = express.Router({ strict: true, caseSensitive: true });
  router.get('/console', (_request, response) => response.redirect(308, '/console/'));
  router.use('/console', standingHeaders(new URL(issuer).origin));
  // Their names change with what is in them.
  router.use('/console/assets', compressed, express.static(path.join(path.dirname(index), 'assets'), files), () => {
    throw notFound();
  });
  // Each address of a page is the one page, which goes by it.
  router.get('/console/{*page}', (_request, response) => {
    response.type('html').send(page);
  });
  return router;
}

/** In the page itself: asked for by a request of its own, they would come later. */
function withSettings(page: string, settings: object): string {
  const written = JSON.stringify(settings).replaceAll('&', '&amp;').replaceAll('"', '&quot;');
  return page.replace('<meta name="gatepost" content="" />', () => `<meta name="gatepost" content="${written}" />`);
}

/** Beside each script and style the build has left the same compressed. */
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

/** Nothing runs or is loaded but what is served here, and nothing is spoken to but this API and the gate. */
function standingHeaders(gate: string): RequestHandler {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src 'self' ${gate}`,
    "form-action 'none'",
    // Pages of the gate as they would look (api/v2/branding/previews).
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
