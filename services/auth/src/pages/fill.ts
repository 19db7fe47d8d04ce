/** Fills a page's values into its texts. */
import { escapeHtml } from '@gatepost/api-docs/escape-html';

export type Values = Record<string, string | number | undefined>;

const placeholder = /\{(\w+)\}/g;

/** The text with its values, unescaped; empty if a value is missing. */
export function fill(text: string, values: Values): string {
  return complete(text, values) ? text.replace(placeholder, (_, name: string) => String(values[name])) : '';
}

/** The same as HTML. Each value is isolated (`bdi`), since it is somebody else’s text and may run in the other direction. */
export function fillRich(text: string, values: Values): string {
  if (!complete(text, values)) return '';
  return escapeHtml(text).replace(placeholder, (_, name: string) => `<bdi>${escapeHtml(String(values[name]))}</bdi>`);
}

/** JSON that is inert inside a script element: it has no `<` that could end it, and no line separator of JavaScript. */
export function inertJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Whether the page has every value that the text names. */
export function complete(text: string, values: Values): boolean {
  return [...text.matchAll(placeholder)].every(([, name]) => values[name as string] !== undefined);
}
