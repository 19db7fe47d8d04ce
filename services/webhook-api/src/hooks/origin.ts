/**
 * Secrets follow the origin: the values of custom request headers belong to one receiver, and people who may change a hook need not know them.
 * So they are kept only while scheme, host and port of its URL stay the same (RFC 6454 section 5); for another origin they must be given
 * anew. A hook’s `secret` is different: it signs and is never sent, and GitHub keeps it as well.
 */

type Bound = { url: string; credentials: string | null; headers: Readonly<Record<string, string>> };

/** The headers that a hook keeps for `url`: the values behind masks in an update. */
export function keptHeaders(url: string, current: Pick<Bound, 'url' | 'headers'>): Readonly<Record<string, string>> {
  return isSameOrigin(url, current.url) ? current.headers : {};
}

/**
 * The names of the headers that an update removed because it moved the hook to another origin, including `Authorization`, which stands for user
 * name and password in the URL.
 */
export function droppedHeaders(before: Bound, after: Bound): string[] {
  if (isSameOrigin(after.url, before.url)) return [];
  const given = new Set(Object.keys(after.headers).map((name) => name.toLowerCase()));
  const lost = Object.keys(before.headers).filter((name) => !given.has(name.toLowerCase()));
  const hasLostCredentials = before.credentials !== null && after.credentials === null;
  return hasLostCredentials ? [...new Set([...lost, 'Authorization'])] : lost;
}

/** Origins as read by the parser that the dispatcher uses too: letter case, default ports and spellings of an address do not matter. */
export function isSameOrigin(one: string, other: string): boolean {
  return one === other || (URL.canParse(one) && URL.canParse(other) && new URL(one).origin === new URL(other).origin);
}
