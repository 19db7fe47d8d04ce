/**
 * Which part of a configured value may be shown. A URL is split, and only the parts that never hold a secret are put back together; one that
 * cannot be split is not shown at all, since the usual reason is a password with a stray `@`, `/` or `#`.
 */

import { splitUrls } from './urls.ts';

const hidden = '********';

/** Shown instead of a URL that cannot be split with certainty. */
export const unreadable = '(not shown: it cannot be told what of it is secret)';

/**
 * A URL with its user info, query values and fragment masked: `postgres://********@db/gate?sslmode=********`. The user name is masked too,
 * because some services take a token there. Anything but a URL becomes `unreadable`.
 */
export function maskUrl(text: string): string {
  // Without `//` the parser sees no user info: `postgres:gate:secret@db` is all path.
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text.trim()) || !URL.canParse(text)) return unreadable;
  const { protocol, username, password, host, pathname, search, hash } = new URL(text);
  // The rest of a password with `/`, `?` or `#` in it ends up behind the host, along with the `@` meant to follow it.
  if ((host + pathname + search + hash).includes('@')) return unreadable;
  const userInfo = username === '' && password === '' ? '' : `${hidden}@`;
  return `${protocol}//${userInfo}${host}${pathname}${maskQuery(search)}${hash === '' ? '' : `#${hidden}`}`;
}

/** Any text, unchanged unless it looks like one or more URLs, a connection string or user info. */
export function maskText(text: string): string {
  const looksSecret = /:\/\/|:[^\s@]*@|(pass|pwd|secret|token|key)\w*\s*[=:]/i.test(text);
  return looksSecret ? splitUrls(text).map(maskUrl).join(', ') : text;
}

/** Somebody else's message with every URL in it masked, except `file:` URLs, which point into the code. */
export function maskUrlsIn(message: string): string {
  return message.replace(/\b(?!file:)[a-z][a-z0-9+.-]*:\/\/[^\s"'`<>]+/gi, (url) => maskUrl(url));
}

/** Shows names but no values: `?password=…` is only one possibility, and a driver may use another name. */
function maskQuery(search: string): string {
  if (search === '') return '';
  const pairs = search.slice(1).split('&');
  if (!pairs.every((pair) => /^[\w.-]+=/.test(pair))) return `?${hidden}`;
  return `?${pairs.map((pair) => `${pair.split('=', 1)[0]}=${hidden}`).join('&')}`;
}
