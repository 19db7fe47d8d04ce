/** Liquid for our own templates: read from memory, parsed once, escaping everything not marked raw. */
import { Liquid } from 'liquidjs';
import { templates } from './assets.ts';
import { fill, fillRich } from './fill.ts';

const engine = new Liquid({
  templates,
  outputEscape: 'escape',
  ownPropertyOnly: true,
  strictFilters: true,
  cache: true,
  jsTruthy: true,
});

// The values in a text are the page's, whichever part shows it.
engine.registerFilter('rich', {
  raw: true,
  handler(text: string) {
    return fillRich(text, this.context.getSync(['values']) as Record<string, string>);
  },
});
engine.registerFilter('fill', function (text: string) {
  return fill(text, this.context.getSync(['values']) as Record<string, string>);
});

// A time in people's own language. Their time zone is unknown without a script.
engine.registerFilter('moment', function (at: Date) {
  const language = this.context.getSync(['locale']) as string;
  const style = { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' } as const;
  const text = new Intl.DateTimeFormat(language, style).format(at);
  return `${text} UTC`;
});

const parsed = new Map(Object.keys(templates).map((name) => [name, engine.parse(templates[name] as string)]));

/** Renders the template of that name (`widgets/consent`). @throws if there is none, which is our mistake */
export function renderOwn(name: string, view: object): string {
  const template = parsed.get(name);
  if (template === undefined) throw new Error(`there is no template ${name}`);
  return engine.renderSync(template, view) as string;
}
