/**
 * What a browser sees at the issuer itself: what this is, and where to go next. For developers, hence only in English and never in a
 * tenant's template.
 */
import { style } from './assets.ts';
import { renderOwn } from './engine.ts';
import { pageHeaders } from './headers.ts';
import type { Page } from './pages.ts';

export type StartPageContext = {
  issuer: string;
  /** The management API's address, and its audience. */
  management: string;
  tenant: string;
  stores: Record<string, boolean>;
};

const names: Record<string, string> = {
  postgresql: 'PostgreSQL',
  changes: 'PostgreSQL’s notifications',
  redis: 'Redis',
};

export function renderStart({ issuer, tenant, stores, ...start }: StartPageContext): Page {
  const base = issuer.replace(/\/?$/, '/');
  const view = {
    ...start,
    issuer,
    title: 'This is the gate',
    tenant: { friendly_name: tenant },
    branding: { logo_url: '', favicon_url: '' },
    docs: `${base}docs`,
    openapi: `${base}openapi.json`,
    discovery: `${base}.well-known/openid-configuration`,
    keys: `${base}.well-known/jwks.json`,
    stores: Object.entries(stores).map(([name, answers]) => ({ name: names[name] ?? name, answers })),
  };
  const head = `${renderOwn('head', view)}<style>${style.text}</style>`;
  const body = renderOwn('widget', { ...view, body: renderOwn('start', view) });
  return {
    html: `<!DOCTYPE html>\n<html lang="en" dir="ltr">\n<head>${head}</head>\n<body class="_widget-auto-layout">${body}</body>\n</html>`,
    headers: pageHeaders({ script: 'page', locale: 'en', styles: [style] }),
  };
}
