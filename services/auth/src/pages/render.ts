/** Renders a hosted page: its widget, in the tenant's template or ours. */
import { randomBytes } from 'node:crypto';
import { layout, scripts, style } from './assets.ts';
import { brandStyle } from './brand-style.ts';
import { renderTenantTemplate } from './custom-template.ts';
import { renderOwn } from './engine.ts';
import { pageHeaders } from './headers.ts';
import type { Branding, CommonContext, Page, PageContext, PageName, Pages } from './pages.ts';
import { applicationLogo, makeView, templateContext } from './view.ts';

const none: Branding = {};

/**
 * The page and its headers; the caller chooses the status and sends both. Never throws because of a request or a tenant's template: a
 * failing template is not used, and `noteTemplateProblem` is told why.
 */
export function renderPage<Name extends PageName>(name: Name, context: PageContext<Name>): Page {
  const view = makeView(name, context);
  const script = scriptOf(name, view);
  const styles = [style, brandStyle(context.branding ?? none)].filter((each) => each !== undefined);
  const head = renderOwn('head', view) + styles.map(({ text }) => `<style>${text}</style>`).join('');
  const widget = `${renderOwn('widget', { ...view, body: renderOwn(`widgets/${name}`, view) })}<script>${scripts[script].text}</script>`;
  const needs = { script, styles, locale: view.locale, ...targets(name, context) } as const;

  if (view.themed && context.template) {
    const nonce = randomBytes(16).toString('base64');
    const own = renderTenantTemplate(context.template, templateContext(view), { head, widget, nonce });
    if (own.kind === 'rendered') return { html: own.html, headers: pageHeaders({ ...needs, nonce }) };
    context.onTemplateProblem?.(own.reason);
  }
  return inLayout();

  function inLayout(): Page {
    const own = renderTenantTemplate(layout, templateContext(view), { head, widget, nonce: '' }, Infinity);
    if (own.kind === 'failed') throw new Error(`our own layout fails: ${own.reason}`);
    return { html: own.html, headers: pageHeaders(needs) };
  }
}

function scriptOf(name: PageName, { options, passkey, captcha }: Record<string, unknown>): keyof typeof scripts {
  if (name === 'form-post' || name === 'web-message') return name;
  const hasKeys = options !== undefined || passkey !== undefined;
  if (captcha !== undefined) return hasKeys ? 'page-with-keys-and-captcha' : 'page-with-captcha';
  return hasKeys ? 'page-with-keys' : 'page';
}

/** Where the page may lead, and who may frame it. */
function targets(
  name: PageName,
  context: CommonContext &
    Partial<Pages['form-post'] & Pages['web-message'] & Pages['identifier'] & Pick<Pages['account-list'], 'groups'>>,
) {
  return {
    pictures: [
      context.branding?.logoUrl,
      context.branding?.faviconUrl,
      name === 'consent' ? applicationLogo(context) : undefined,
      ...(context.elsewhere ?? []).map(({ icon }) => icon),
      ...(context.groups ?? []).flatMap(({ buttons = [] }) => buttons.map(({ icon }) => icon)),
    ],
    fontUrl: context.branding?.fontUrl,
    redirectUri: context.redirectUri ?? (name === 'form-post' ? context.action : undefined),
    framedBy: name === 'web-message' ? context.origin : undefined,
  };
}
