/** The public webhook API that served this page. Anything the console can do, any program can do. */
import { Unreachable } from '../session/errors.ts';
import type { Session } from '../session/session.ts';

/** An unsuccessful answer, in the API's words. */
export class ApiProblem extends Error {
  readonly status: number;
  /** When to try again, in seconds; undefined: unknown. */
  readonly retryAfter: number | undefined;
  readonly fields: { field: string; message: string }[];
  /** The gate's `errorCode`. */
  readonly code: string | undefined;
  /** The webhook API's page about it. */
  readonly documentation: string | undefined;

  constructor(
    status: number,
    message: string,
    retryAfter?: number,
    fields: ApiProblem['fields'] = [],
    code?: string,
    documentation?: string,
  ) {
    super(message);
    this.documentation = documentation;
    this.code = code;
    this.status = status;
    this.retryAfter = retryAfter;
    this.fields = fields;
  }
}

export type Page<T> = { rows: T[]; next: string | null };

export type Api = {
  get<T>(path: string, signal?: AbortSignal): Promise<T>;
  /** One page of a list, and the path of the next, from the `Link` header (RFC 8288). */
  page<T>(path: string, signal?: AbortSignal): Promise<Page<T>>;
  send<T>(method: 'POST' | 'PATCH' | 'PUT' | 'DELETE', path: string, body?: unknown): Promise<T>;
};

export function openApi(session: Session): Api {
  type Asked = { body?: unknown; signal?: AbortSignal };
  async function ask(method: string, path: string, asked: Asked = {}) {
    const token = await session.token();
    const response = await send(token, method, path, asked);
    if (response.status !== 401) return response;
    // The token ended before its time. If the next is refused too, signing in again would get no better one.
    const second = await send(await session.tokenAfter(token), method, path, asked);
    if (second.status === 401) throw await problemOf(second);
    return second;
  }
  async function send(token: string, method: string, path: string, { body, signal }: Asked) {
    const headers: Record<string, string> = { Authorization: `Bearer ${token}`, Accept: 'application/vnd.github+json' };
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    const init = { method, headers, signal: signal ?? null, body: body === undefined ? null : JSON.stringify(body) };
    const response = await fetch(path, init).catch((error: Error) => {
      throw error.name === 'AbortError' ? error : new Unreachable('The webhook API is not responding.');
    });
    if (!response.ok && response.status !== 401) throw await problemOf(response);
    return response;
  }
  return {
    get: async (path, signal) => (await ask('GET', path, { signal })).json(),
    async page(path, signal) {
      const response = await ask('GET', path, { signal });
      return { rows: await response.json(), next: nextOf(response.headers.get('link')) };
    },
    async send(method, path, body) {
      const response = await ask(method, path, { body });
      const text = await response.text();
      return text === '' ? undefined : JSON.parse(text);
    },
  };
}

export async function problemOf(response: Response): Promise<ApiProblem> {
  type Answer = {
    message?: string;
    errors?: { field?: string; message?: string; code?: string }[];
    documentation_url?: string;
  };
  const {
    message,
    errors = [],
    documentation_url: documentation,
  } = (await response.json().catch(() => ({}))) as Answer;
  const fields = errors.map((error) => ({
    field: error.field ?? '',
    message: error.message ?? error.code?.replaceAll('_', ' ') ?? '',
  }));
  const retryAfter = Number(response.headers.get('retry-after')) || undefined;
  const said = reasonOf(response) ?? message ?? `The API answered ${response.status}.`;
  return new ApiProblem(response.status, said, retryAfter, fields, undefined, documentation);
}

/** Why a token was refused (RFC 6750 section 3). */
export const reasonOf = ({ headers }: Response): string | undefined =>
  /error_description="([^"]*)"/.exec(headers.get('www-authenticate') ?? '')?.[1];

function nextOf(link: string | null): string | null {
  const url = /<([^>]+)>;\s*rel="next"/.exec(link ?? '')?.[1];
  if (url === undefined) return null;
  const { pathname, search } = new URL(url, location.href);
  return pathname + search;
}
