/** Makes one attempt: posts with got, within one deadline from start to the end of the response. */
import {
  type AgentOptions,
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from 'node:http';
import {
  Agent as HttpsAgent,
  type AgentOptions as HttpsAgentOptions,
  request as httpsRequest,
  type RequestOptions,
} from 'node:https';
import { isIP, type Socket } from 'node:net';
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import type { DeliveryTimings } from '@gatepost/contracts/delivery';
import type { Guard } from '@gatepost/runtime/address';
import got, { type Options, type Request } from 'got';
import { makeLookups } from '../fairness/lookups.ts';
import { codeOf } from './classify.ts';
import { type Clock, timingsOf, watch } from './clock.ts';
import { endpointOf } from './endpoint.ts';
import type { DeliveryRequest } from './request.ts';
import { makeOpenTunnel, type OpenTunnel, SecureTunnelAgent, TunnelAgent } from './tunnel.ts';

/** The raw result of an attempt, before it is classified. */
export type Attempt = { timings: DeliveryTimings } & Result;

type Result =
  | { kind: 'response'; status: number; headers: Record<string, string>; body: Buffer }
  | { kind: 'timeout'; phase: Phase }
  | { kind: 'error'; code: string; message: string; hadResponse: boolean };

type Phase = 'while looking up the name' | 'while connecting' | 'while waiting for the head' | 'while reading the body';

export type Post = Disposable & ((request: DeliveryRequest) => Promise<Attempt>);

const responseMaxBytes = 64 * 1024;
/** Idle connections kept, per origin and in total. */
const idlePerOrigin = 256;
const idleInAll = 1_024;
const idleMs = 15_000;

/**
 * Redirects are not followed, and up to 64 KiB of the response are read, without decompression. Nothing is retried, with one exception: a
 * reused connection that is reset before the first byte of a response gets one try on a new connection.
 */
export function makePost(options: {
  timeoutMs: number;
  guard: Guard;
  /** How many names may be looked up at once. */
  lookupsAtOnce: number;
  /** PEM roots trusted in addition to Node's own. */
  extraRoots?: string | undefined;
  proxyUrl?: string | undefined;
}): Post {
  const { guard, timeoutMs, proxyUrl } = options;
  // Node tries a name's addresses in turn, by default for 250 ms each, in which no receiver that is farther away can answer.
  const addressTimeoutMs = Math.ceil(timeoutMs / 4);
  const agents = makeAgents(
    options.extraRoots,
    proxyUrl === undefined ? undefined : makeOpenTunnel({ proxyUrl, guard, timeoutMs }),
  );
  const lookupFor = makeLookups({ lookup: guard.lookup, atOnce: options.lookupsAtOnce, waitMaxMs: timeoutMs });

  const attemptOnce = (request: DeliveryRequest, agent: HttpAgent | HttpsAgent, timeoutMs: number) => {
    const { options: shared, isSecure, address, host } = endpointOf(request.target);
    // Of an array Node makes the request's head at once; of an object it would first keep, and check, each header by name.
    const headers = ['Host', host];
    for (const name in request.headers) headers.push(name, request.headers[name]!);
    headers.push('Content-Length', String(request.body.length));
    const clock: Clock = {};
    const native = {
      method: 'POST',
      headers,
      agent,
      lookup: lookupFor(request.accountId),
      autoSelectFamilyAttemptTimeout: addressTimeoutMs,
      clock,
      ...address,
    };
    const send = () => (isSecure ? httpsRequest(native as RequestOptions) : httpRequest(native));
    return exchange(request, shared, send, clock, timeoutMs);
  };
  /** Their hosts are names, or allowed addresses. A target never changes. */
  const checked = new WeakSet<URL>();
  const post = async (request: DeliveryRequest): Promise<Attempt> => {
    const startedAt = performance.now();
    try {
      if (!checked.has(request.target)) {
        guard.checkLiteral(request.target.hostname);
        checked.add(request.target);
      }
    } catch (error) {
      const { code, message } = error as { code: string; message: string };
      const timings = { dns: null, connect: null, tls: null, first_byte: null, total: 0 };
      return { kind: 'error', code, message, hadResponse: false, timings };
    }
    const pool =
      request.target.protocol === 'https:' ? (request.insecureSsl ? agents.insecure : agents.https) : agents.http;
    const first = await attemptOnce(request, pool.kept, options.timeoutMs);
    if (!first.stale) return first.attempt;
    // The receiver closed an idle connection while we were writing to it, which it may do.
    const leftMs = options.timeoutMs - (performance.now() - startedAt);
    const second = await attemptOnce(request, pool.fresh, Math.max(1, leftMs));
    second.attempt.timings.total = Math.round(performance.now() - startedAt);
    return second.attempt;
  };
  return Object.assign(post, {
    [Symbol.dispose]() {
      for (const { kept, fresh } of [agents.http, agents.https, agents.insecure]) {
        kept.destroy();
        fresh.destroy();
      }
    },
  });
}

type Exchanged = { attempt: Attempt; stale: boolean };

/**
 * Sends a request and reads its response. Never rejects; both are finished or destroyed when it resolves.
 *
 * got's request function is replaced by one that sends the whole request and answers with the response: the body passes through none of got's
 * streams, header names keep GitHub's spelling, and only the timings shown in the log are taken.
 */
function exchange(
  { target, body }: DeliveryRequest,
  options: Options,
  send: () => ClientRequest,
  clock: Clock,
  timeoutMs: number,
): Promise<Exchanged> {
  const startedAt = performance.now();
  const { promise, resolve } = Promise.withResolvers<Exchanged>();
  const chunks: Buffer[] = [];
  let length = 0;
  let sent: ClientRequest | undefined;
  let response: IncomingMessage | undefined;
  let settled = false;

  const settle = (result: Result, stale = false) => {
    if (settled) return;
    settled = true;
    clearTimeout(timer);
    const total = Math.round(performance.now() - startedAt);
    resolve({ attempt: { ...result, timings: timingsOf(clock, total) }, stale });
  };
  const end = () => {
    stream.destroy();
    sent?.destroy();
  };
  const answered = () => {
    if (!response) return;
    const { statusCode = 0 } = response;
    const kept = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
    const body = kept.subarray(0, responseMaxBytes);
    settle({ kind: 'response', status: statusCode, headers: flatHeaders(response), body });
  };
  const phase = (): Phase => {
    if (response) return 'while reading the body';
    const connected = target.protocol === 'https:' ? clock.secured : clock.connected;
    if (sent?.reusedSocket || connected !== undefined) return 'while waiting for the head';
    const isLookingUp = clock.socket !== undefined && clock.resolved === undefined && !isAddress(target.hostname);
    return isLookingUp ? 'while looking up the name' : 'while connecting';
  };
  const timer = setTimeout(() => {
    settle({ kind: 'timeout', phase: phase() });
    end();
  }, timeoutMs);
  const request = () =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const own = send();
      sent = own;
      watch(own, clock);
      own.on('response', resolve);
      own.on('error', reject);
      // 101 is a final answer, and not a success; the connection no longer speaks HTTP.
      own.on('upgrade', (head: IncomingMessage, socket: Socket) => {
        socket.destroy();
        response = head;
        answered();
        end();
      });
      own.end(body);
    });

  const stream = got(undefined, undefined, options) as unknown as Request; // by `isStream`, which its types leave out
  stream.options.request = request; // got asks for it in a later turn
  stream.on('response', (head: IncomingMessage) => {
    response = head;
  });
  stream.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    length += chunk.length;
    if (length < responseMaxBytes) return;
    // The rest is not wanted, and may never end.
    answered();
    end();
  });
  stream.on('end', answered);
  stream.on('error', (error: Error) => {
    const code = codeOf(error);
    const hadResponse = response !== undefined;
    const stale = !hadResponse && sent?.reusedSocket === true && (code === 'ECONNRESET' || code === 'EPIPE');
    settle({ kind: 'error', code, message: error.message, hadResponse }, stale);
    end();
  });
  stream.end(); // got has nothing more to send
  return promise;
}

/** `hostname` as in `URL.hostname`. */
const isAddress = (hostname: string) => hostname.startsWith('[') || isIP(hostname) !== 0;

/** Repeated headers joined by a comma, as the log shows them. */
function flatHeaders(response: IncomingMessage): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(response.headers)) {
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return flat;
}

/** Agents for reused and for one-time connections. */
type Pool<A> = { kept: A; fresh: A };

/** With `openTunnel`, every connection goes through the proxy. */
function makeAgents(
  extraRoots: string | undefined,
  openTunnel: OpenTunnel | undefined,
): { http: Pool<HttpAgent>; https: Pool<HttpsAgent>; insecure: Pool<HttpsAgent> } {
  const http = (options: AgentOptions): HttpAgent =>
    openTunnel ? new TunnelAgent(options, openTunnel) : new HttpAgent(options);
  const https = (options: HttpsAgentOptions): HttpsAgent =>
    openTunnel ? new SecureTunnelAgent(options, openTunnel) : new HttpsAgent(options);
  const kept = {
    keepAlive: true,
    maxFreeSockets: idlePerOrigin,
    scheduling: 'lifo' as const,
    timeout: idleMs,
  };
  // Created once: parsing a hundred roots per connection would take longer than the delivery.
  const secureContext: SecureContext | undefined =
    extraRoots === undefined ? undefined : createSecureContext({ ca: [...rootCertificates, extraRoots] });
  const trusting = secureContext === undefined ? {} : { secureContext };
  const insecure = { rejectUnauthorized: false };
  return {
    http: { kept: bounded(http(kept)), fresh: http({}) },
    https: { kept: bounded(https({ ...kept, ...trusting })), fresh: https({ ...trusting }) },
    insecure: { kept: bounded(https({ ...kept, ...insecure })), fresh: https({ ...insecure }) },
  };
}

/** Bounds the idle connections of all origins together: many receivers must not exhaust file handles. */
function bounded<A extends HttpAgent>(agent: A): A {
  // Documented (`agent.keepSocketAlive`), but missing from Node's typings.
  const keeps = agent as unknown as { keepSocketAlive(socket: Socket): boolean; totalSocketCount: number };
  const keepSocketAlive = keeps.keepSocketAlive.bind(agent);
  keeps.keepSocketAlive = (socket) => keeps.totalSocketCount <= idleInAll && keepSocketAlive(socket);
  return agent;
}
