/** The gate's management API (`api/v2`), used as the signed-in person: at the issuer, which may be another origin. */
import { Unreachable } from '../session/errors.ts';
import type { Session } from '../session/session.ts';
import { ApiProblem, reasonOf } from './client.ts';

export type Management = {
  /** With its trailing slash. */
  issuer: string;
  get<T>(path: string, signal?: AbortSignal): Promise<T>;
  send<T>(method: 'POST' | 'PATCH' | 'PUT' | 'DELETE', path: string, body?: unknown): Promise<T>;
  /** All of a list paged by number, of which the API gives the first 1,000. */
  all<T>(path: string, signal?: AbortSignal): Promise<T[]>;
  /** The person's permissions: scopes of the management API. */
  scopes(): Promise<ReadonlySet<string>>;
};

export function openManagement({ gate }: Session): Management {
  type Asked = { body?: unknown; signal?: AbortSignal };
  async function ask(method: string, path: string, asked: Asked = {}, isSecond = false): Promise<Response> {
    const { body, signal } = asked;
    const given = await gate.token();
    if (!given) throw new ApiProblem(403, 'You have no permissions for the gate’s management API.');
    const headers: Record<string, string> = { Authorization: `Bearer ${given.token}` };
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    const init = { method, headers, signal: signal ?? null, body: body === undefined ? null : JSON.stringify(body) };
    const response = await fetch(`${gate.issuer}api/v2${path}`, init).catch((error: Error) => {
      if (error.name === 'AbortError') throw error;
      // The answer to a refused token cannot be read, since the gate does not know whose page asked: the next try gets another token.
      gate.forget();
      throw new Unreachable('The gate is not responding.');
    });
    if (response.status === 401 && !isSecond) {
      // The token ended before its time. If the next is refused too, signing in again would get no better one.
      gate.forget();
      return ask(method, path, asked, true);
    }
    if (!response.ok) throw await problemOf(response);
    return response;
  }
  const get = async <T>(path: string, signal?: AbortSignal): Promise<T> =>
    (await ask('GET', path, { ...(signal && { signal }) })).json();
  return {
    issuer: gate.issuer,
    get,
    async all<T>(path: string, signal?: AbortSignal) {
      const rows: T[] = [];
      for (let page = 0; page < 10; page += 1) {
        const next = await get<T[]>(`${path}${path.includes('?') ? '&' : '?'}per_page=100&page=${page}`, signal);
        rows.push(...next);
        if (next.length < 100) break;
      }
      return rows;
    },
    async send<T>(method: string, path: string, body?: unknown): Promise<T> {
      const text = await (await ask(method, path, { body })).text();
      return text === '' ? (undefined as T) : JSON.parse(text);
    },
    scopes: async () => (await gate.token())?.scopes ?? new Set(),
  };
}

/** Reads Auth0's two forms of an error. */
async function problemOf(response: Response): Promise<ApiProblem> {
  type Answer = { message?: string; error_description?: string; description?: string; errorCode?: string };
  const { message, error_description, description, errorCode } = (await response.json().catch(() => ({}))) as Answer;
  const retryAfter = Number(response.headers.get('retry-after')) || undefined;
  const said =
    reasonOf(response) ?? message ?? error_description ?? description ?? `The gate answered ${response.status}.`;
  const [, weakness] = /^PasswordStrengthError: (.*)$/s.exec(said) ?? [];
  const [, text = weakness, field = 'password'] =
    /^Payload validation error: (.*) on property (\S+)$/s.exec(said) ?? [];
  if (text === undefined) return new ApiProblem(response.status, said, retryAfter, [], errorCode);
  return new ApiProblem(response.status, text, retryAfter, [{ field, message: text }], errorCode);
}
