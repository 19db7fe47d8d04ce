/**
 * `GET /` for browsers: what this is, and where to go from here. GitHub's clients ask there too, for JSON or for anything, and still get
 * GitHub's root (`root.ts`); a person's browser prefers HTML.
 */

import { createHash } from 'node:crypto';
import { escapeHtml } from '@gatepost/api-docs/escape-html';
import { type ReadyCheck, watchChecks } from '@gatepost/runtime/checks';
import type { RequestHandler } from 'express';
import type { BaseOf } from '../http/base.ts';

export function makeStartPage(options: {
  baseOf: BaseOf;
  issuer: string;
  audience: string;
  stores: Record<string, ReadyCheck>;
}): RequestHandler {
  const look = watchChecks(options.stores);
  return async (request, response, next) => {
    if (request.headers.authorization !== undefined || request.accepts(['json', 'html']) !== 'html') return next();
    const html = renderStart({ ...options, base: options.baseOf(request), stores: await look() });
    response.set({
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': `default-src 'none'; style-src 'sha256-${styleHash}'; frame-ancestors 'none'; base-uri 'none'`,
      'Cache-Control': 'no-store',
    });
    response.end(html);
  };
}

type Start = { base: string; issuer: string; audience: string; stores: Record<string, boolean> };

const names: Record<string, string> = { postgresql: 'PostgreSQL', rabbitmq: 'RabbitMQ', keys: 'The gate’s keys' };

function renderStart({ base, issuer, audience, stores }: Start): string {
  const link = (path: string, text: string) => `<a href="${escapeHtml(base + path)}">${text}</a>`;
  const code = (text: string) => `<code>${escapeHtml(text)}</code>`;
  const facts = [
    ['Base URL for clients', code(base)],
    ['Reference', `${link('/docs', 'docs')}, ${link('/openapi.json', 'openapi.json')}`],
    ['Deliveries come from', link('/meta', 'meta')],
    [
      'Tokens',
      `of the gate <a href="${escapeHtml(issuer)}">${escapeHtml(issuer)}</a> for the audience ${code(audience)}`,
    ],
    ...Object.entries(stores).map(([name, answers]) => [
      escapeHtml(names[name] ?? name),
      answers ? 'answers' : 'does not answer',
    ]),
  ];
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,"><title>Gatepost webhook API</title><style>${style}</style></head><body><main>
<h1>This is the webhook API</h1>
<p>Hooks of organizations and repositories, and the log of what was delivered to them, by the routes of GitHub's REST API.</p>
<dl>${facts.map(([what, text]) => `<dt>${what}</dt><dd>${text}</dd>`).join('')}</dl>
</main></body></html>
`;
}

// The colours of the gate's pages (services/auth/templates/style.css).
const style = `
:root { color-scheme: light dark; --ground: #f3f4f0; --card: #fff; --text: #17201d; --soft: #52605b; --line: #dde2de; --accent: #0d5f50; }
@media (prefers-color-scheme: dark) { :root { --ground: #0e1211; --card: #171d1b; --text: #e9eeec; --soft: #a6b3ae; --line: #2a3330; --accent: #74d4bd; } }
body { margin: 0; min-height: 100svh; display: grid; place-items: center; background: var(--ground); color: var(--text); font: 1rem/1.5 system-ui, sans-serif; }
main { box-sizing: border-box; width: min(34rem, 100% - 2rem); margin: 1rem; padding: 2.5rem; background: var(--card); border: 1px solid var(--line); border-radius: 1.25rem; overflow-wrap: anywhere; }
h1 { margin: 0; font-size: 1.625rem; line-height: 1.25; } p { margin: 0.5rem 0 1.75rem; color: var(--soft); }
dl { display: grid; grid-template-columns: auto 1fr; gap: 0.375rem 1rem; margin: 0; padding-top: 1.25rem; border-top: 1px solid var(--line); font-size: 0.875rem; }
dt { color: var(--soft); } dd { margin: 0; } a { color: var(--accent); }`;
const styleHash = createHash('sha256').update(style).digest('base64');
