/**
 * The stylesheet and scripts of the pages, read once. They are inlined, because one response is faster than two, and allowed by their
 * hashes (CSP level 2), so that nothing else that gets into a page can run.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';

/** Beside `src/` and `dist/`, so that the built service finds it in the same place. */
const folder = new URL('../../templates/', import.meta.url);

/** The text of an element, and the source expression that allows it. */
export type Inline = { text: string; source: string };

/** The widgets and parts by the name that Liquid's `render` and `include` use: `widgets/consent`, `parts/field`. */
export const templates: Record<string, string> = Object.fromEntries(
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.liquid') && file !== 'layout.liquid')
    .map((file) => [file.slice(0, -'.liquid'.length).replaceAll('\\', '/'), read(file)]),
);

/** Our own template: used without a tenant’s, and as the example of one. */
export const layout = read('layout.liquid');

export const style: Inline = inline(
  read('style.css')
    .replace(/\/\*.*?\*\//gs, '')
    .replace(/\s*\n\s*/g, '')
    .replace(/\s*([{;,])\s*/g, '$1')
    .replaceAll(': ', ':'),
);

export const scripts: Record<
  'page' | 'page-with-keys' | 'page-with-captcha' | 'page-with-keys-and-captcha' | 'form-post' | 'web-message',
  Inline
> = {
  page: script('page.js'),
  // The script that asks for a key comes first: while it is busy, nothing is submitted.
  'page-with-keys': script('webauthn.js', 'page.js'),
  'page-with-captcha': script('captcha.js', 'page.js'),
  'page-with-keys-and-captcha': script('webauthn.js', 'captcha.js', 'page.js'),
  'form-post': script('form-post.js'),
  'web-message': script('web-message.js'),
};

function script(...files: string[]): Inline {
  return inline(
    files
      .map(read)
      .join('\n')
      .replace(/^\s*\/\/.*\n/gm, '')
      .replace(/\n\s*/g, '\n')
      .trim(),
  );
}

/** The element's text with the source expression of its hash. */
export function inline(text: string): Inline {
  return { text, source: `'sha256-${createHash('sha256').update(text).digest('base64')}'` };
}

function read(file: string): string {
  return readFileSync(new URL(file, folder), 'utf8');
}
