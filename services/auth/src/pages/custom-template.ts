/**
 * A tenant’s own page template: Liquid around `{%- auth0:head -%}` and `{%- auth0:widget -%}`. Its author is trusted with the look of
 * the page, not with the process or with people’s input: it can read no file; its computing, memory and output are bounded; all output
 * is escaped (`raw` has no effect) and allowed only where escaping helps (template-rules.ts); and the page’s CSP runs none of its
 * scripts.
 */

import { escapeHtml } from '@gatepost/api-docs/escape-html';
import {
  Context,
  type Emitter,
  Liquid,
  Tag,
  type TagToken,
  type Template,
  type TopLevelToken,
  toValueSync,
} from 'liquidjs';
import { addressFilter, readTemplate, safeAddress } from './template-rules.ts';

/** Auth0's limit for a template, in characters. */
const sourceMaxLength = 100_000;
const outputMaxLength = 256_000;
const maxRenderMs = 100;
/** Limits that Liquid itself enforces, for any template that is not ours. */
export const templateLimits = { parseLimit: sourceMaxLength, memoryLimit: 1_000_000 };

/**
 * A context in which a template may only compute for so long. Liquid’s own limit is one of time: on a busy machine a process may stand still
 * for longer than a good template needs.
 */
export function boundedContext(view: object, { options }: Liquid, maxMs = maxRenderMs): Context {
  const context = new Context(view, options, { sync: true, renderLimit: Infinity });
  const start = performance.now();
  const computed = process.threadCpuUsage();
  context.renderLimit.check = (now) => {
    if (now - start <= maxMs) return;
    const { user, system } = process.threadCpuUsage(computed);
    if (user + system > maxMs * 1_000) throw new Error('template render limit exceeded');
  };
  return context;
}

/** What the two tags insert, and the nonce by which the page’s CSP allows the template’s styles. */
export type TemplateParts = { head: string; widget: string; nonce: string };
export type Rendered = { kind: 'rendered'; html: string } | { kind: 'failed'; reason: string };

/** Why a template cannot be saved; undefined if it can. */
export function checkTemplate(source: string): string | undefined {
  if (source.length > sourceMaxLength) return `the template is longer than ${sourceMaxLength} characters`;
  for (const part of ['head', 'widget'])
    if (!new RegExp(`\\{%-?\\s*auth0:${part}\\s*-?%\\}`).test(source))
      return `the template lacks {%- auth0:${part} -%}`;
  const pieces = { head: '', widget: '', nonce: '' };
  const trial = renderTenantTemplate(source, {}, pieces);
  return trial.kind === 'failed' ? trial.reason : readTemplate(source).problems[0];
}

/** Renders a tenant’s template. Never throws; fails if the template is broken, exceeds a limit, or does not show each tag exactly once. */
export function renderTenantTemplate(
  source: string,
  view: object,
  pieces: TemplateParts,
  renderLimitMs = maxRenderMs,
): Rendered {
  try {
    const template = parse(source);
    const shown = { head: 0, widget: 0 };
    const context = boundedContext({ ...view, csp_nonce: pieces.nonce }, engine, renderLimitMs);
    context.setRegister('auth0', { pieces, shown });
    const output = new BoundedOutput(outputMaxLength + pieces.head.length + pieces.widget.length);
    toValueSync(engine.renderer.renderTemplates(template, context, output));
    if (shown.head !== 1 || shown.widget !== 1)
      return { kind: 'failed', reason: 'auth0:head and auth0:widget must each be shown once' };
    return { kind: 'rendered', html: output.buffer };
  } catch (error) {
    return { kind: 'failed', reason: error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error) };
  }
}

/** The same without the two tags, for the body of a mail. `strict`, used when it is saved, also refuses what a page’s CSP would block. */
export function renderTenantBody(source: string, view: object, { strict = false } = {}): Rendered {
  const tooLong = source.length > sourceMaxLength;
  if (tooLong) return { kind: 'failed', reason: `the template is longer than ${sourceMaxLength} characters` };
  try {
    const [problem] = strict ? readTemplate(source).problems : [];
    if (problem !== undefined) return { kind: 'failed', reason: problem };
    const template = parse(source);
    const context = boundedContext(view, engine);
    const output = new BoundedOutput(outputMaxLength);
    toValueSync(engine.renderer.renderTemplates(template, context, output));
    return { kind: 'rendered', html: output.buffer };
  } catch (error) {
    return { kind: 'failed', reason: error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error) };
  }
}

const engine = new Liquid({
  // An empty in-memory folder: `include`, `render` and `layout` find nothing, and no file is read.
  templates: {},
  outputEscape: (value) => escapeHtml(value === undefined || value === null ? '' : String(value)),
  ownPropertyOnly: true,
  ...templateLimits,
});

// Auth0 tells authors to write `| escape`; here values are already escaped, and must not be escaped twice.
for (const filter of ['escape', 'escape_once', 'raw']) engine.registerFilter(filter, (value: unknown) => value);

engine.registerFilter(addressFilter, safeAddress);

engine.registerTag(
  'auth0',
  class extends Tag {
    readonly part: 'head' | 'widget';
    constructor(token: TagToken, remaining: TopLevelToken[], liquid: Liquid) {
      super(token, remaining, liquid);
      const part = token.args.trim();
      if (part !== ':head' && part !== ':widget') throw new Error(`there is no tag auth0${part}`);
      this.part = part === ':head' ? 'head' : 'widget';
    }
    override render(context: Context, output: Emitter): void {
      const register = context.getRegister<{ pieces: TemplateParts; shown: Record<'head' | 'widget', number> }>(
        'auth0',
      );
      if (register.shown === undefined) throw new Error(`auth0:${this.part} is for pages`);
      register.shown[this.part] += 1;
      output.write(register.pieces[this.part]);
    }
  },
);

/** Parsing takes longer than rendering, and a tenant has one page template and a few for mails, so the last ones are cached. */
const parsed = new Map<string, Template[]>();

function parse(source: string): Template[] {
  const known = parsed.get(source);
  if (known !== undefined) return known;
  const { unsafe, source: safe } = readTemplate(source);
  if (unsafe.length > 0) throw new Error(unsafe[0]);
  const template = engine.parse(safe);
  if (parsed.size >= 16) parsed.delete(parsed.keys().next().value as string);
  parsed.set(source, template);
  return template;
}

class BoundedOutput implements Emitter {
  buffer = '';
  readonly maxLength: number;
  constructor(maxLength: number) {
    this.maxLength = maxLength;
  }
  write(value: unknown): void {
    this.buffer += typeof value === 'string' ? value : (value ?? '');
    if (this.buffer.length > this.maxLength) throw new Error(`the page is longer than ${outputMaxLength} characters`);
  }
}
