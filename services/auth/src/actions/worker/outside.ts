/** An action's `fetch`: the process itself has no network, so the gate performs the request, under its rules for outgoing ones (outside.ts). */
import type { FetchedAnswer, FetchRequest } from './messages.ts';

export const bodyMaxBytes = 1024 * 1024;
/** The gate's limits (../report-shape.ts); it ends a process that exceeds them, with everything running in it. */
const most = { url: 8_192, headers: 100, name: 200, value: 8_192 };

/** Hands a request to the gate. Rejects with a TypeError, as `fetch` does. */
export type Ask = (request: FetchRequest, signal?: AbortSignal) => Promise<FetchedAnswer>;

type Outside = {
  fetch: typeof globalThis.fetch;
  ask: Ask;
  answered(fetch: number, answer: FetchedAnswer): void;
  failed(fetch: number, message: string): void;
};

/** @param tell sends a message to the gate */
export function makeFetch(tell: (given: { fetch: number; request: FetchRequest }) => void): Outside {
  const { Request, Response } = globalThis;
  const waiting = new Map<number, { resolve(answer: FetchedAnswer): void; reject(error: Error): void }>();
  let last = 0;
  const ask: Ask = async (request, signal) => {
    check(request);
    last += 1;
    const number = last;
    return new Promise<FetchedAnswer>((resolve, reject) => {
      waiting.set(number, { resolve, reject });
      signal?.addEventListener('abort', () => {
        waiting.delete(number);
        reject(signal.reason as Error);
      });
      tell({ fetch: number, request });
    });
  };
  return {
    ask,
    async fetch(input, init) {
      const request = new Request(input, init);
      const bytes = Buffer.from(await request.arrayBuffer());
      if (bytes.length > bodyMaxBytes) throw new TypeError(`fetch failed: a body of more than ${bodyMaxBytes} bytes`);
      request.signal.throwIfAborted();
      const { url, method, redirect } = request;
      const body = bytes.length > 0 ? { body: bytes.toString('base64') } : {};
      const answer = await ask({ url, method, headers: [...request.headers], redirect, ...body }, request.signal);
      const { status, statusText, headers } = answer;
      const content = [204, 205, 304].includes(status) ? null : Buffer.from(answer.body, 'base64');
      const response = new Response(content, { status, statusText, headers });
      Object.defineProperty(response, 'url', { value: answer.url });
      Object.defineProperty(response, 'redirected', { value: answer.redirected });
      return response;
    },
    answered(number, answer) {
      waiting.get(number)?.resolve(answer);
      waiting.delete(number);
    },
    failed(number, message) {
      waiting.get(number)?.reject(new TypeError(`fetch failed: ${message}`));
      waiting.delete(number);
    },
  };
}

function check({ url, method, headers }: FetchRequest): void {
  const isTooLarge = ([name, value]: [string, string]) => name.length > most.name || value.length > most.value;
  if (url.length > most.url || headers.length > most.headers || headers.some(isTooLarge))
    throw new TypeError('fetch failed: an address or headers that are too long');
  if (!URL.canParse(url)) throw new TypeError('fetch failed: no address');
  if (!/^[A-Z]{1,20}$/.test(method)) throw new TypeError(`fetch failed: ${method} is not among the methods`);
}
