/**
 * A mail from the tenant’s own template: Liquid in its body, subject, sender and the final address of its link. The body has the same rules
 * and limits as a page template (../pages/custom-template.ts); the others are single lines of text.
 */
import { Liquid } from 'liquidjs';
import { boundedContext, renderTenantBody, templateLimits } from '../pages/custom-template.ts';

export type TemplateFields = {
  body?: string | null;
  subject?: string | null;
  sender?: string | null;
  resultUrl?: string | null;
};

type Text = { kind: 'rendered'; text: string } | { kind: 'failed'; reason: string };

/** The problem with a template; undefined if there is none. */
export function checkEmailTemplate({ body, subject, sender, resultUrl }: TemplateFields): string | undefined {
  const problem = (field: string, rendered: { kind: string; reason?: string }) =>
    rendered.kind === 'failed' ? `${field}: ${rendered.reason}` : undefined;
  return (
    (body ? problem('body', renderTenantBody(body, {}, { strict: true })) : undefined) ??
    (subject ? problem('subject', renderLine(subject, {})) : undefined) ??
    (sender ? problem('from', renderLine(sender, {})) : undefined) ??
    (resultUrl ? problem('resultUrl', renderLine(resultUrl, {})) : undefined)
  );
}

const lineMax = 1_000;

const lines = new Liquid({ templates: {}, ownPropertyOnly: true, ...templateLimits });
// Authors add escaping filters, but nothing here is HTML.
for (const filter of ['escape', 'escape_once', 'raw']) lines.registerFilter(filter, (value: unknown) => value);

/** One line of text: no line break gets into a header. Never throws. */
export function renderLine(source: string, view: object): Text {
  if (source.length > lineMax) return { kind: 'failed', reason: `it is longer than ${lineMax} characters` };
  try {
    const text = String(lines.parseAndRenderSync(source, boundedContext(view, lines)));
    return {
      kind: 'rendered',
      text: text
        .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
        .trim()
        .slice(0, lineMax),
    };
  } catch (error) {
    return { kind: 'failed', reason: error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error) };
  }
}

/**
 * A sender whose display name may contain values. Anything in them that could end the name and begin another address is removed, so that the
 * address is always the template author's.
 */
export function renderSender(source: string, view: object): Text {
  const rendered = renderLine(source, withoutAddresses(view) as object);
  const isSender =
    rendered.kind === 'failed' ||
    /^(?:[^<>@,;]+<[^\s<>@,;]+@[^\s<>@,;]+>|[^\s<>@,;]+@[^\s<>@,;]+)$/.test(rendered.text);
  return isSender ? rendered : { kind: 'failed', reason: 'it is no address' };
}

function withoutAddresses(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(/[<>@,;:"\\()[\]]+/g, ' ');
  if (Array.isArray(value)) return value.map(withoutAddresses);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withoutAddresses(inner)]));
}

/** Where a link leads on to, if that is an http(s) URL. */
export function renderResultUrl(source: string, view: object): string | undefined {
  const rendered = renderLine(source, view);
  const url = rendered.kind === 'rendered' ? URL.parse(rendered.text) : null;
  return url?.protocol === 'https:' || url?.protocol === 'http:' ? url.href : undefined;
}
