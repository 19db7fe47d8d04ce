/** An action's `fetch`: the process itself has no network, so the gate performs the request, under its rules for outgoing ones (outside.ts). */
import {
  brotliDecompressSync,
  constants,
  gunzipSync,
  inflateRawSync,
  inflateSync,
  zstdDecompressSync,
} from 'node:zlib';
import type { FetchedAnswer, FetchRequest } from './messages.ts';

export const bodyMaxBytes = 1024 * 1024;
/** The gate's limits (../report-shape.ts); it ends a process that exceeds them, with everything running in it. */
const most = { url: 8_192, headers: 100, name: 200, value: 8_192 };

/** What Node's fetch adds: some servers refuse requests without it, as GitHub's API does without a `User-Agent`. */
const usual = { accept: '*/*', 'accept-language': '*', 'user-agent': 'node', 'accept-encoding': 'gzip, deflate' };

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
      const added = Object.entries(usual).filter(([name]) => !request.headers.has(name));
      const asked = { url, method, headers: [...request.headers, ...added], redirect, ...body };
      const answer = await ask(asked, request.signal);
      const { status, statusText, headers } = answer;
      const response = new Response(contentOf(answer), { status, statusText, headers });
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

/** An answer that breaks off is read as far as it goes, as by Node. */
const zlib = { maxOutputLength: bodyMaxBytes, finishFlush: constants.Z_SYNC_FLUSH };
const brotli = { maxOutputLength: bodyMaxBytes, finishFlush: constants.BROTLI_OPERATION_FLUSH };
/** The largest window that RFC 9659 allows, 8 MB: a small answer may ask for a larger one. */
const zstd = {
  maxOutputLength: bodyMaxBytes,
  finishFlush: constants.ZSTD_e_flush,
  params: { [constants.ZSTD_d_windowLogMax]: 23 },
};
const gunzip = (bytes: Buffer) => gunzipSync(bytes, zlib);
const decoders = new Map<string, (bytes: Buffer) => Buffer<ArrayBuffer>>([
  ['gzip', gunzip],
  ['x-gzip', gunzip],
  // Some servers send it without the header that it should have.
  ['deflate', (bytes) => (bytes[0]! % 16 === 8 ? inflateSync : inflateRawSync)(bytes, zlib)],
  ['br', (bytes) => brotliDecompressSync(bytes, brotli)],
  ['zstd', (bytes) => zstdDecompressSync(bytes, zstd)],
]);
const codingsMax = 5;

/** Decodes an answer's body, as Node's fetch does; it leaves one in a coding that it does not know. Done here, at the cost of the action. */
function contentOf({ status, headers, body }: FetchedAnswer): Buffer<ArrayBuffer> | null {
  if ([204, 205, 304].includes(status)) return null;
  const bytes = Buffer.from(body, 'base64');
  const codings = headers
    .filter(([name]) => name.toLowerCase() === 'content-encoding')
    .flatMap(([, value]) => value.toLowerCase().split(','))
    .map((coding) => coding.trim());
  if (!codings.every((coding) => decoders.has(coding))) return bytes;
  if (codings.length > codingsMax) throw new TypeError(`fetch failed: an answer in more than ${codingsMax} codings`);
  try {
    return codings.reduceRight((coded, coding) => decoders.get(coding)!(coded), bytes);
  } catch (error) {
    const isTooLarge = (error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE';
    const what = isTooLarge ? `of more than ${bodyMaxBytes} bytes` : `that is not ${codings.join(', ')}`;
    throw new TypeError(`fetch failed: an answer ${what}`);
  }
}

function check({ url, method, headers }: FetchRequest): void {
  const isTooLarge = ([name, value]: [string, string]) => name.length > most.name || value.length > most.value;
  if (url.length > most.url || headers.length > most.headers || headers.some(isTooLarge))
    throw new TypeError('fetch failed: an address or headers that are too long');
  if (!URL.canParse(url)) throw new TypeError('fetch failed: no address');
  if (!/^[A-Z]{1,20}$/.test(method)) throw new TypeError(`fetch failed: ${method} is not among the methods`);
}
