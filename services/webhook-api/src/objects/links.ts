/** The `…_url` properties of GitHub’s objects: URLs, or URL templates (RFC 6570), below the object’s own. */
import { z } from 'zod';

type Names<L> = keyof L & string;

/** `paths` appended to `url`, each under its name. */
export function linksBelow<const L extends Record<string, string>>(url: string, paths: L): Record<Names<L>, string> {
  return mapValues(paths, (path) => url + path);
}

export function linksSchema<const L extends Record<string, string>>(paths: L): Record<Names<L>, z.ZodString> {
  return mapValues(paths, () => z.string());
}

/**
 * The base URL of the pages for people, derived from the API’s as on a GitHub Enterprise Server, where the API is at `/api/v3`. Such pages do
 * not exist here; objects link to them all the same, because clients require it.
 */
export const webBase = (base: string): string => base.replace(/\/api\/v3$/, '');

function mapValues<L extends Record<string, string>, V>(paths: L, map: (path: string) => V): Record<Names<L>, V> {
  // `fromEntries` loses the type of the names.
  return Object.fromEntries(Object.entries(paths).map(([name, path]) => [name, map(path)])) as Record<Names<L>, V>;
}
