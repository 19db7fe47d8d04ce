/** Requests to an API with a token, with refusals explained to the user. */
import { type Later, Problem } from '../problem.ts';
import { type Answered, type Asked, parseJson, request } from './request.ts';

// biome-ignore lint/suspicious/noExplicitAny: an answer's JSON, of which each command reads what it names
export type Json = any;

export type Api = {
  base: string;
  /** The parsed body; undefined: the answer has none. @throws Problem for every refusal. */
  call(method: string, path: string, body?: unknown): Promise<Json>;
  /** The same with status and headers; a 304 is not a refusal. */
  ask(
    method: string,
    path: string,
    body?: unknown,
    /** `uninterrupted`: Ctrl-C waits for the answer. */
    more?: Pick<Asked, 'headers' | 'onText'> & { uninterrupted?: true },
  ): Promise<Answered & { body: Json }>;
  /** Items of a list, page by page, up to `most`. */
  list(path: string, most: number): Promise<{ items: Json[]; isMore: boolean }>;
};

/** `signal` ends requests; `again`: what to do about a refused token. */
export function openApi(
  base: string,
  token: () => Promise<string>,
  signal: AbortSignal,
  again = 'The token is no longer valid: gatepost login',
): Api {
  const ask: Api['ask'] = async (method, path, body, { headers, onText, uninterrupted } = {}) => {
    const answered = await request(base + path, {
      method,
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${sendable(await token(), again)}`,
        // fetch sets a form's boundary itself.
        ...(body === undefined || body instanceof FormData ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(uninterrupted ? {} : { signal }),
      ...(onText && { onText }),
      ...(body === undefined ? {} : { body: body instanceof FormData ? body : JSON.stringify(body) }),
    });
    const { status } = answered;
    if (status >= 400) throw Object.assign(refusal(`${method} ${path.split('?')[0]}`, answered, again), { status });
    return { ...answered, body: answered.text === '' ? undefined : parseJson(answered.text, base + path) };
  };
  return {
    base,
    ask,
    call: async (...asked) => (await ask(...asked)).body,
    async list(path, most) {
      const items: Json[] = [];
      const join = path.includes('?') ? '&' : '?';
      for (let at: string | undefined = `${path}${join}per_page=${Math.min(100, most)}`; at !== undefined; ) {
        const { body, headers } = await ask('GET', at);
        items.push(...(body as Json[]));
        const [, next] = /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '') ?? [];
        if (next === undefined || items.length >= most)
          return { items: items.slice(0, most), isMore: next !== undefined || items.length > most };
        // The link uses the API's own name, which may differ from how it is reached from here.
        at = path.replace(/\?.*/, '') + new URL(next).search;
      }
      return { items, isMore: false };
    },
  };
}

/** fetch would repeat in its error a token that it cannot send. */
function sendable(token: string, again: string): string {
  const trimmed = token.trim();
  if (/^[\x20-\x7e]+$/.test(trimmed)) return trimmed;
  throw new Problem('notSignedIn', 'that is no token: it is empty, or has characters that no token has', again);
}

function refusal(what: string, { status, headers, text }: Answered, again: string): Problem {
  const said = describe(text).replace(/\s+/g, ' ');
  const message = `${said || `status ${status}`} (${what}: ${status})`;
  if (status === 401) return new Problem('notSignedIn', message, again);
  const later = comeBackLater(status, headers);
  if (later) return Object.assign(new Problem('unreachable', message, `Try again ${later.when}.`), { later });
  if (status === 403 || status === 404) return new Problem('notFound', message, ...whyNot(headers));
  return new Problem('refused', message);
}

/** Of an answer that asks for that. A used-up limit is a 403, as at GitHub. */
export function comeBackLater(status: number, headers: Headers): Later | undefined {
  const resetMs = Number(headers.get('x-ratelimit-reset')) * 1000;
  if (status === 403 && headers.get('x-ratelimit-remaining') === '0' && resetMs > 0)
    return { when: `at ${new Date(resetMs).toISOString()}`, waitMs: Math.max(0, resetMs - Date.now()) };
  if (status !== 429 && status < 500) return undefined;
  const seconds = Number(headers.get('retry-after'));
  return seconds > 0 ? { when: `in ${seconds} s`, waitMs: seconds * 1000 } : { when: 'in a moment', waitMs: 0 };
}

function describe(text: string): string {
  let said: { message?: unknown; errors?: unknown; error_description?: unknown; error?: unknown };
  try {
    said = JSON.parse(text);
  } catch {
    return text.slice(0, 200).trim();
  }
  const { message, error_description, error, errors } = said ?? {};
  const items = (Array.isArray(errors) ? errors : []).map((item: unknown) => {
    if (typeof item === 'string') return item;
    const { field, message, code, value } = item as Record<string, string | undefined>;
    return [field, message ?? code, value && `(${value})`].filter(Boolean).join(' ');
  });
  return [message ?? error_description ?? error ?? '', ...items].filter(Boolean).join('; ');
}

function whyNot(headers: Headers): string[] {
  const list = (name: string) =>
    (headers.get(name) ?? '')
      .split(',')
      .map((scope) => scope.trim())
      .filter(Boolean);
  const [held, accepted] = [list('x-oauth-scopes'), list('x-accepted-oauth-scopes')];
  if (accepted.length === 0 || accepted.some((scope) => held.includes(scope)))
    return ['Either there is no such thing, or you may not see it: `gatepost whoami` shows who you are here.'];
  const needed = accepted.join(', ');
  if (accepted.join() === 'site_admin')
    return ['It takes a machine with the scope site_admin: gatepost login --machine --client-id ID'];
  return [`Your token lacks its scope. One of these is needed: ${needed}`, `gatepost login --scopes ${accepted[0]}`];
}
