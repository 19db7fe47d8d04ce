/**
 * User name and password in a hook's URL (`https://user:password@host/`): stored separately, sealed, and sent as basic authentication (RFC
 * 7617). Every answer shows a mask in their place. Like custom headers they belong to one origin.
 */
import { mask } from './mask.ts';
import { isSameOrigin } from './origin.ts';
import { refuse } from './refuse.ts';

/** A URL without credentials, and the credentials, percent-encoded as in a URL; null: none. */
export type HookUrl = { url: string; credentials: string | null };

/** Up to the last `@` before path, query and fragment, as the parser reads it. */
const withCredentials = /^([a-z][a-z0-9+.-]*:\/\/)([^/?#]*)@/i;

export function splitUrl(text: string): HookUrl {
  const [, , credentials] = withCredentials.exec(text) ?? [];
  if (credentials === undefined) return { url: text, credentials: null };
  return { url: text.replace(withCredentials, '$1'), credentials: credentials.replace(/^:$/, '') || null };
}

export const joinUrl = ({ url, credentials }: HookUrl): string =>
  credentials === null ? url : url.replace('://', () => `://${credentials}@`);

/**
 * The URL that `text` means: a mask in place of credentials keeps those of `current`, for the same origin.
 * @throws ApiError 422 for a mask where there is nothing to keep.
 */
export function readUrl(text: string, current: HookUrl | undefined): HookUrl {
  const given = splitUrl(text);
  if (given.credentials === null || !masks.includes(given.credentials)) return given;
  if (!current) throw refuse('url', `url must not hold ${mask}, which only stands for a user name and password`);
  return { ...given, credentials: isSameOrigin(given.url, current.url) ? current.credentials : null };
}

const masks = [mask, `${mask}:${mask}`];

/** The URL as answers show it. */
export const maskUrl = ({ url, has }: { url: string; has: boolean }): string =>
  joinUrl({ url, credentials: has ? `${mask}:${mask}` : null });
