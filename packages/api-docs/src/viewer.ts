/**
 * The page that shows an OpenAPI description with Redoc (https://github.com/Redocly/redoc): an HTML page and one script, both served by us.
 * Nothing is loaded from elsewhere, and the page's policy would not allow it.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { escapeHtml } from './escape-html.ts';

/** The page's anchors: for an operation, and for a tag's page. */
export const anchorOf = {
  operation: (operationId: string): string => `operation/${operationId}`,
  tag: (tag: string): string => `tag/${tag}`,
};

/** Paths are relative to the page. */
export function docsPage(options: { title: string; script: string; description: string }): string {
  const [title, script, description] = [options.title, options.script, options.description].map(escapeHtml);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,"><title>${title}</title><style>${ownStyle}</style></head><body>
<main id="docs" data-description="${description}"><noscript>This page needs JavaScript. It shows this description:
<a href="${description}">${description}</a></noscript></main>
<script src="${script}"></script></body></html>`;
}

const ownStyle = 'body{margin:0}';

/** Styles that Redoc's bundle adds besides the rules it inserts one by one: an empty style sheet, and that of its scroll bars. */
const styleHashes = [hashOf(ownStyle), hashOf(''), "'sha256-QMIg+bpjm3JdElJ388KYke01izlUW0UoNOeKjpMxdgc='"];

export const docsPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  `style-src ${styleHashes.join(' ')}`,
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Redoc's bundle, and the line that starts it. */
export function docsScript(): string {
  script ??= `${readBundle()}\n;${start}`;
  return script;
}

let script: string | undefined;

function readBundle(): string {
  const file = createRequire(import.meta.url).resolve('redoc/bundles/redoc.standalone.js');
  // The maker's logo would load from the maker's server; without it, the name is shown.
  return readFileSync(file, 'utf8').replaceAll('https://cdn.redoc.ly/redoc/logo-mini.svg', 'data:,');
}

/** A search worker would need a policy that allows scripts from `blob:`; the browser's own search covers the whole page. */
const start = `(() => {
  const place = document.getElementById('docs');
  const options = { disableSearch: true, expandResponses: '', hideDownloadButton: false, nativeScrollbars: true, pathInMiddlePanel: true };
  Redoc.init(new URL(place.dataset.description, document.baseURI).href, options, place);
})();`;

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}
