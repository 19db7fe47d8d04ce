/**
 * What the gate asks of others by itself. Keys come with a client (`jwks`), and nothing else is fetched from where a client or a
 * request points; only back-channel logout calls out, to public addresses and to those that `OUTBOUND_ALLOWED_NETWORKS` lists.
 */
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Guard } from '@gatepost/runtime/address';
import type { Configuration } from 'oidc-provider';

type Fetch = NonNullable<Configuration['fetch']>;

/**
 * The library's `fetch`, which looks at an address only after it has connected: here none is connected to that is not allowed.
 * No redirect is followed, no connection kept, and of the answer only its status is read.
 */
export function makeOutsideFetch(guard: Guard): Fetch {
  return async (url, options) => {
    if (options?.method !== 'POST') throw new Error('nothing is fetched from where a client points');
    const target = new URL(String(url));
    guard.checkLiteral(target.hostname);
    const { headers, body, signal } = options as RequestInit;
    const status = await post(target, String(body ?? ''), {
      headers: Object.fromEntries(new Headers(headers)),
      lookup: guard.lookup,
      agent: false, // of its own: no connection is shared with what was not checked
      ...(signal ? { signal } : {}),
    });
    return new Response(null, { status });
  };
}

function post(target: URL, body: string, options: RequestOptions): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const answered = (response: IncomingMessage) => {
    response.on('error', () => {}); // its end is of no interest
    response.destroy();
    const { statusCode = 0 } = response;
    if (statusCode >= 200 && statusCode <= 599) resolve(statusCode);
    else reject(new Error(`an answer of status ${statusCode}`));
  };
  const request = (target.protocol === 'https:' ? httpsRequest : httpRequest)(target, { ...options, method: 'POST' });
  request.on('response', answered).on('upgrade', answered).on('error', reject).end(body);
  return promise;
}
