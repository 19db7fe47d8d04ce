/** Hides the values of an action's secrets in anything kept or shown of it: what it throws or prints may contain one. */

/** Shorter values are words that occur everywhere. */
const shortest = 4;
/** Each line of a multi-line key is hidden by itself, since printing an object separates the lines. */
const shortestLine = 16;
/** Caches the values to hide, by secrets object. */
const known = new WeakMap<Record<string, string>, string[]>();

/** The text with `***` for each value, in plain and in JSON spelling. Call it before truncating: half of a value is not recognized. */
export function withoutSecrets(text: string, secrets: Record<string, string>): string {
  let hidden = known.get(secrets);
  if (!hidden) {
    hidden = Object.values(secrets)
      .filter((value) => value.length >= shortest)
      .flatMap((value) => [value, JSON.stringify(value).slice(1, -1), ...linesOf(value)])
      .toSorted((a, b) => b.length - a.length);
    known.set(secrets, hidden);
  }
  return hidden.reduce((masked, value) => masked.replaceAll(value, '***'), text);
}

const linesOf = (value: string) => value.split(/\r?\n/).filter((line) => line.length >= shortestLine);

/** The same for all strings in a JSON value, including property names. */
export function withoutSecretsWithin(value: unknown, secrets: Record<string, string>): unknown {
  return JSON.parse(JSON.stringify(value), (_name, part: unknown) => {
    if (typeof part === 'string') return withoutSecrets(part, secrets);
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).map(([name, inner]) => [withoutSecrets(name, secrets), inner]));
  });
}
