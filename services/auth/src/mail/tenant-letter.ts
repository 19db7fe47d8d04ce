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

/** Whether what it renders to depends on values. */
const hasValues = (source: string) => /\{[{%]/.test(source);

/** The problem with a template; undefined if there is none, or if only a mail's own values can tell. */
export function checkEmailTemplate({ body, subject, sender, resultUrl }: TemplateFields): string | undefined {
  const problem = (field: string, rendered: { kind: string; reason?: string }) =>
    rendered.kind === 'failed' ? `${field}: ${rendered.reason}` : undefined;
  return (
    (body ? problem('body', renderTenantBody(body, {}, { strict: true })) : undefined) ??
    (subject ? problem('subject', renderLine(subject, {})) : undefined) ??
    (sender ? problem('from', checkedSender(sender)) : undefined) ??
    (resultUrl ? problem('resultUrl', checkedResultUrl(resultUrl)) : undefined)
  );
}

function checkedSender(source: string): Text {
  const rendered = renderLine(source, {});
  return rendered.kind === 'rendered' && rendered.text === '' && hasValues(source)
    ? rendered
    : renderSender(source, {});
}

function checkedResultUrl(source: string): Text {
  const rendered = renderLine(source, { application: sampleApplication, client: sampleApplication });
  return rendered.kind === 'rendered' && !URL.canParse(rendered.text) && hasValues(source)
    ? rendered
    : resultUrlOf(rendered);
}

const sampleApplication = { name: 'Example', clientID: 'example', callback_domain: 'https://app.example' };

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
 * A sender whose display name may contain values; in quotes it may have commas and semicolons. Anything in the values that could end the
 * name and begin another address is removed, so that the address is always the template author's.
 */
export function renderSender(source: string, view: object): Text {
  const rendered = renderLine(source, withoutAddresses(view) as object);
  const isSender =
    rendered.kind === 'failed' ||
    /^(?:(?:"[^"<>@\\]*"|[^"<>@,;])*<[^\s<>@,;]+@[^\s<>@,;]+>|[^\s<>@,;]+@[^\s<>@,;]+)$/.test(rendered.text);
  return isSender ? rendered : { kind: 'failed', reason: 'it is no address' };
}

function withoutAddresses(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(/[<>@,;:"\\()[\]]+/g, ' ');
  if (Array.isArray(value)) return value.map(withoutAddresses);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withoutAddresses(inner)]));
}

/** Where a link leads on to. */
export function renderResultUrl(source: string, view: object): Text {
  return resultUrlOf(renderLine(source, view));
}

function resultUrlOf(rendered: Text): Text {
  if (rendered.kind === 'failed') return rendered;
  const url = URL.parse(rendered.text);
  return url?.protocol === 'https:' || url?.protocol === 'http:'
    ? { kind: 'rendered', text: url.href }
    : { kind: 'failed', reason: 'it is no http or https URL' };
}
