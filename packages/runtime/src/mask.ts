/**
 * What may be shown of a configured value. A URL is taken apart, and only the parts that never hold a secret are put together
 * again; what cannot be taken apart is not shown at all, since a password with a stray `@`, `/` or `#` in it is the
 * usual reason.
 */

import { splitUrls } from './urls.ts';

const hidden = '********';

/** What stands in for a URL that cannot be taken apart with certainty. */
export const unreadable = '(not shown: it cannot be told what of it is secret)';

/**
 * A URL with its user info, the values of its query and its fragment masked: `postgres://********@db/gate?sslmode=********`. The user's
 * name goes too: some services take a token there. What is no URL becomes `unreadable`.
 */
export function maskUrl(text: string): string {
  // Without `//` there is no user info to the parser: `postgres:gate:secret@db` is all path.
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text.trim()) || !URL.canParse(text)) return unreadable;
  const { protocol, username, password, host, pathname, search, hash } = new URL(text);
  // A password that held a `/`, `?` or `#` ends up behind the host, with the `@` that was to follow it.
  if ((host + pathname + search + hash).includes('@')) return unreadable;
  const userInfo = username === '' && password === '' ? '' : `${hidden}@`;
  return `${protocol}//${userInfo}${host}${pathname}${maskQuery(search)}${hash === '' ? '' : `#${hidden}`}`;
}

/** Any text: shown as it is unless it looks like a URL, several of them, a connection string or user info. */
export function maskText(text: string): string {
  const looksSecret = /:\/\/|:[^\s@]*@|(pass|pwd|secret|token|key)\w*\s*[=:]/i.test(text);
  return looksSecret ? splitUrls(text).map(maskUrl).join(', ') : text;
}

/** A message of somebody else's making, with every URL in it masked; `file:` URLs, which say where in the code, are left. */
export function maskUrlsIn(message: string): string {
  return message.replace(/\b(?!file:)[a-z][a-z0-9+.-]*:\/\/[^\s"'`<>]+/gi, (url) => maskUrl(url));
}

/** Names are shown, values never: `?password=…` is one among others, and a driver may call it otherwise. */
function maskQuery(search: string): string {
  if (search === '') return '';
  const pairs = search.slice(1).split('&');
  if (!pairs.every((pair) => /^[\w.-]+=/.test(pair))) return `?${hidden}`;
  return `?${pairs.map((pair) => `${pair.split('=', 1)[0]}=${hidden}`).join('&')}`;
}
