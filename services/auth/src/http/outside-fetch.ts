/**
 * The gate's own outgoing requests: it posts back-channel logouts, reads the keys of clients with a `jwks_uri`, and asks the providers of
 * connections; only at public addresses and those in `OUTBOUND_ALLOWED_NETWORKS`. Nothing else is fetched from an address that a client
 * or request names.
 */
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Guard } from '@gatepost/runtime/address';
import type { Configuration } from 'oidc-provider';

type Fetch = NonNullable<Configuration['fetch']>;

/** Enough for a JWKS, a token response or a profile. */
const bodyMaxBytes = 64 * 1024;

/**
 * Replaces the library’s `fetch`, which checks an address only after connecting: here no connection to a forbidden address is made. No
 * redirect is followed and no connection kept; the response to a POST is not read, that to a GET is bounded.
 */
export function makeOutsideFetch(guard: Guard): Fetch {
  return makeFetch(guard, (method, status) => method === 'GET' && status === 200, bodyMaxBytes);
}

/** The same for providers, whose responses are always read. @throws AnswerTooLarge */
export function makeAnsweredFetch(guard: Guard, maxBytes = bodyMaxBytes): typeof fetch {
  return makeFetch(guard, () => true, maxBytes) as typeof fetch;
}

export class AnswerTooLarge extends Error {
  override name = 'AnswerTooLarge';
  constructor(maxBytes: number) {
    super(`an answer of more than ${maxBytes} bytes`);
  }
}

type Reads = (method: string, status: number) => boolean;

function makeFetch(guard: Guard, reads: Reads, maxBytes: number): Fetch {
  return async (url, options) => {
    const target = new URL(String(url));
    guard.checkLiteral(target.hostname);
    const { method = 'GET', headers, body, signal } = (options ?? {}) as RequestInit;
    return ask(
      target,
      String(body ?? ''),
      { reads, maxBytes },
      {
        method,
        headers: Object.fromEntries(new Headers(headers)),
        lookup: guard.lookup,
        agent: false, // its own: no connection is shared with unchecked requests
        ...(signal ? { signal } : {}),
      },
    );
  };
}

/** The headers of a response that are kept. */
const forwardedHeaders = ['cache-control', 'content-type', 'www-authenticate'];

type Bounds = { reads: Reads; maxBytes: number };

function ask(target: URL, body: string, { reads, maxBytes }: Bounds, options: RequestOptions): Promise<Response> {
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const answered = (response: IncomingMessage) => {
    response.on('error', reject);
    const { statusCode = 0, headers } = response;
    if (statusCode < 200 || statusCode > 599) reject(new Error(`an answer of status ${statusCode}`));
    else if (reads(options.method ?? 'GET', statusCode)) {
      const given = forwardedHeaders.flatMap((name) =>
        headers[name] === undefined ? [] : [[name, String(headers[name])] as const],
      );
      const init = { status: statusCode, headers: given as [string, string][] };
      readBody(response, maxBytes).then(
        (text) => resolve(new Response(isBodiless(statusCode) ? null : text, init)),
        reject,
      );
      return;
    } else resolve(new Response(null, { status: statusCode }));
    response.destroy();
  };
  const request = (target.protocol === 'https:' ? httpsRequest : httpRequest)(target, options);
  request.on('response', answered).on('upgrade', answered).on('error', reject).end(body);
  return promise;
}

const isBodiless = (status: number) => [204, 205, 304].includes(status);

async function readBody(response: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new AnswerTooLarge(maxBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
