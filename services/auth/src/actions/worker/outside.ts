/** `fetch` of an action: the process itself reaches nothing, so the gate asks for it, by the rules of what it asks of others (outside.ts). */
import type { FetchedAnswer, FetchRequest } from './messages.ts';

const bodyMaxBytes = 1024 * 1024;

type Outside = {
  fetch: typeof globalThis.fetch;
  answered(fetch: number, answer: FetchedAnswer): void;
  failed(fetch: number, message: string): void;
};

/** @param ask hands a request to the gate */
export function makeFetch(ask: (given: { fetch: number; request: FetchRequest }) => void): Outside {
  const { Request, Response } = globalThis;
  const waiting = new Map<number, { resolve(answer: FetchedAnswer): void; reject(error: Error): void }>();
  let last = 0;
  return {
    async fetch(input, init) {
      const request = new Request(input, init);
      const bytes = Buffer.from(await request.arrayBuffer());
      if (bytes.length > bodyMaxBytes) throw new TypeError(`fetch failed: a body of more than ${bodyMaxBytes} bytes`);
      request.signal.throwIfAborted();
      last += 1;
      const number = last;
      const answer = await new Promise<FetchedAnswer>((resolve, reject) => {
        waiting.set(number, { resolve, reject });
        request.signal.addEventListener('abort', () => {
          waiting.delete(number);
          reject(request.signal.reason as Error);
        });
        const { url, method, redirect } = request;
        const headers = [...request.headers];
        const body = bytes.length > 0 ? { body: bytes.toString('base64') } : {};
        ask({ fetch: number, request: { url, method, headers, redirect, ...body } });
      });
      const { status, statusText, headers } = answer;
      const body = [204, 205, 304].includes(status) ? null : Buffer.from(answer.body, 'base64');
      const response = new Response(body, { status, statusText, headers });
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
