/** The `…_url` properties of GitHub's objects: addresses, or templates (RFC 6570) of addresses, below the object's own. */
import { z } from 'zod';

type Names<L> = keyof L & string;

/** `paths` behind `url`, each under its name. */
export function linksBelow<const L extends Record<string, string>>(url: string, paths: L): Record<Names<L>, string> {
  return mapValues(paths, (path) => url + path);
}

export function linksSchema<const L extends Record<string, string>>(paths: L): Record<Names<L>, z.ZodString> {
  return mapValues(paths, () => z.string());
}

/**
 * The address that pages for people stand below, from the API's base, as a GitHub Enterprise Server has both: the API is at `/api/v3`. Here
 * are no such pages; objects name them all the same, because clients demand it.
 */
export const webBase = (base: string): string => base.replace(/\/api\/v3$/, '');

function mapValues<L extends Record<string, string>, V>(paths: L, map: (path: string) => V): Record<Names<L>, V> {
  // `fromEntries` forgets which names there were.
  return Object.fromEntries(Object.entries(paths).map(([name, path]) => [name, map(path)])) as Record<Names<L>, V>;
}
