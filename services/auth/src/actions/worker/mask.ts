/** Hides the values of an action's secrets in what is kept or shown of it: what it throws or prints may hold one. */

/** Shorter ones are words that stand everywhere. */
const shortest = 4;
/** Of a key of several lines each is hidden by itself: what prints objects parts them. */
const shortestLine = 16;
/** Kept for the secrets that were asked about. */
const known = new WeakMap<Record<string, string>, string[]>();

/** The text with `***` for each value, as it is and as JSON spells it. Before anything is cut: half of a value is not recognized. */
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

/** The same in all texts of a value that JSON can say, names of properties among them. */
export function withoutSecretsWithin(value: unknown, secrets: Record<string, string>): unknown {
  return JSON.parse(JSON.stringify(value), (_name, part: unknown) => {
    if (typeof part === 'string') return withoutSecrets(part, secrets);
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).map(([name, inner]) => [withoutSecrets(name, secrets), inner]));
  });
}
