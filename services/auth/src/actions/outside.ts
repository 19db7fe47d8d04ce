/**
 * The gate performs an action's fetches: by http or https, only at hosts that `ACTIONS_ALLOWED_HOSTS` names, and, as with all of the gate's
 * outgoing requests, only at public addresses and those of `OUTBOUND_ALLOWED_NETWORKS`. Bounded in time and size; process.ts bounds the number.
 */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Guard } from '@gatepost/runtime/address';
import type { FetchedAnswer, FetchRequest } from './worker/messages.ts';

export type AskOutside = (
  request: FetchRequest,
  options: { signal: AbortSignal; timeoutMs: number },
) => Promise<FetchedAnswer>;

const answerMaxBytes = 1024 * 1024;
const redirectsMax = 5;
/** Headers of the connection rather than of the request. */
const ownHeaders = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'upgrade', 'te', 'trailer']);

/** @param hosts names, `*.example.com` for any subdomain, or `*` */
export function makeAskOutside(guard: Guard, hosts: string[]): AskOutside {
  return (request, { signal, timeoutMs }) => follow(request, AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]));

  async function follow(first: FetchRequest, signal: AbortSignal): Promise<FetchedAnswer> {
    let request = first;
    for (let hops = 0; ; hops += 1) {
      const url = new URL(request.url);
      if (!/^https?:$/.test(url.protocol)) throw new Error(`${url.protocol} is not fetched`);
      if (!hosts.some((pattern) => isNamed(url.hostname, pattern)))
        throw new Error(`${url.hostname} is not among ACTIONS_ALLOWED_HOSTS`);
      guard.checkLiteral(url.hostname);
      const answer = await ask(url, request);
      const next = nextOf(request, answer);
      if (!next || request.redirect === 'manual') return { ...answer, redirected: hops > 0 };
      if (request.redirect === 'error' || hops === redirectsMax) throw new Error('a redirect');
      request = next;
    }

    function ask(url: URL, { method, headers, body }: FetchRequest): Promise<FetchedAnswer> {
      const given = headers.filter(([name]) => !ownHeaders.has(name.toLowerCase()));
      const bytes = body === undefined ? undefined : Buffer.from(body, 'base64');
      const { promise, resolve, reject } = Promise.withResolvers<FetchedAnswer>();
      const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
      const all = { ...grouped(given), ...(bytes && { 'content-length': String(bytes.length) }) };
      send(url, { method, headers: all, lookup: guard.lookup, agent: false, signal })
        .on('response', (response) => {
          read(response, url.href).then(resolve, (error: unknown) => {
            response.destroy();
            reject(error);
          });
        })
        .on('upgrade', (_response, socket) => {
          socket.destroy();
          reject(new Error('an upgrade'));
        })
        .on('error', reject)
        .end(bytes);
      return promise;
    }
  }
}

/** Each header with all of its values. */
const grouped = (headers: [string, string][]): Record<string, string[]> =>
  Object.fromEntries(
    Map.groupBy(headers, ([name]) => name.toLowerCase())
      .entries()
      .map(([name, same]) => [name, same.map(([, value]) => value)]),
  );

function isNamed(host: string, pattern: string): boolean {
  if (pattern === '*') return true;
  return pattern.startsWith('*.') ? host.endsWith(pattern.slice(1)) : host === pattern;
}

async function read(response: IncomingMessage, url: string): Promise<FetchedAnswer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > answerMaxBytes) throw new Error(`an answer of more than ${answerMaxBytes} bytes`);
    chunks.push(chunk);
  }
  const { statusCode: status = 0, statusMessage: statusText = '', rawHeaders } = response;
  if (status < 200 || status > 599) throw new Error(`an answer of status ${status}`);
  const headers = rawHeaders.flatMap((name, index) =>
    index % 2 === 0 ? [[name, rawHeaders[index + 1]!] as [string, string]] : [],
  );
  return { url, status, statusText, headers, body: Buffer.concat(chunks).toString('base64'), redirected: false };
}

/** Headers that belong to the origin that they were meant for. */
const ofOrigin = /^(?:authorization|proxy-authorization|cookie)$/i;

/** Follows redirects as the Fetch standard says (https://fetch.spec.whatwg.org/#http-redirect-fetch), and hands no credentials to another origin. */
function nextOf(request: FetchRequest, { status, headers, url }: FetchedAnswer): FetchRequest | undefined {
  const location = headers.find(([name]) => name.toLowerCase() === 'location')?.[1];
  if (![301, 302, 303, 307, 308].includes(status) || location === undefined) return undefined;
  const target = URL.parse(location, url);
  if (!target) throw new Error('a redirect to nowhere');
  const isSame = target.origin === new URL(url).origin;
  const kept = request.headers.filter(([name]) => isSame || !ofOrigin.test(name));
  const { method, body: _, ...bare } = request;
  const becomesGet = status === 303 ? !['GET', 'HEAD'].includes(method) : status < 303 && method === 'POST';
  if (!becomesGet) return { ...request, headers: kept, url: target.href };
  return { ...bare, method: 'GET', headers: kept.filter(([name]) => !/^content-/i.test(name)), url: target.href };
}
