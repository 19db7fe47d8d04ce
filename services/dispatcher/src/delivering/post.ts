/** Makes one attempt: got posts, within one deadline from start to the end of the response. */
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
import type { Socket } from 'node:net';
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import type { DeliveryTimings } from '@gatepost/contracts/delivery';
import type { Guard } from '@gatepost/runtime/address';
import got, { type Request } from 'got';
import type { DeliveryRequest } from './request.ts';
import { makeOpenTunnel, type OpenTunnel, SecureTunnelAgent, TunnelAgent } from './tunnel.ts';

/** What came of an attempt, before it is judged. */
export type Attempt = { timings: DeliveryTimings } & (
  | { kind: 'response'; status: number; headers: Record<string, string>; body: Buffer }
  | { kind: 'timeout'; phase: 'while connecting' | 'while waiting for the head' | 'while reading the body' }
  | { kind: 'error'; code: string; message: string; hadResponse: boolean }
);

export type Post = Disposable & ((request: DeliveryRequest) => Promise<Attempt>);

const responseMaxBytes = 64 * 1024;
/** Idle connections a receiver may keep, of one origin and in all. */
const idlePerOrigin = 256;
const idleInAll = 1_024;
const idleMs = 15_000;

/**
 * Redirects are not followed, and the response is read up to 64 KiB without decompression. Nothing is tried again, with one exception: when
 * a reused connection is reset before the first byte of a response, once, on a new connection.
 */
export function makePost(options: {
  timeoutMs: number;
  guard: Guard;
  /** PEM roots trusted beside Node's own. */
  extraRoots?: string | undefined;
  proxyUrl?: string | undefined;
}): Post {
  const { guard, timeoutMs, proxyUrl } = options;
  const agents = makeAgents(
    options.extraRoots,
    proxyUrl === undefined ? undefined : makeOpenTunnel({ proxyUrl, guard, timeoutMs }),
  );
  const looking = { lookup: guard.lookup };

  const attemptOnce = (request: DeliveryRequest, agent: HttpAgent | HttpsAgent, timeoutMs: number) => {
    const headers: Record<string, string | number> = { ...request.headers, 'Content-Length': request.body.length };
    // Our own request function keeps GitHub's spelling of header names, and spares got's option handling.
    const native = (url: URL, _options: unknown): ClientRequest =>
      url.protocol === 'https:'
        ? httpsRequest(url, { method: 'POST', headers, agent, ...looking } as RequestOptions)
        : httpRequest(url, { method: 'POST', headers, agent, ...looking });
    // As an option, got would copy the body for each request.
    const stream = client.stream.post(request.target, { request: native });
    stream.end(request.body);
    return read(stream, timeoutMs);
  };
  const post = async (request: DeliveryRequest): Promise<Attempt> => {
    const startedAt = performance.now();
    try {
      options.guard.checkLiteral(request.target.hostname);
    } catch (error) {
      const { code, message } = error as { code: string; message: string };
      const timings = { dns: null, connect: null, tls: null, first_byte: null, total: 0 };
      return { kind: 'error', code, message, hadResponse: false, timings };
    }
    const pool =
      request.target.protocol === 'https:' ? (request.insecureSsl ? agents.insecure : agents.https) : agents.http;
    const first = await attemptOnce(request, pool.kept, options.timeoutMs);
    if (!first.stale) return first.attempt;
    // The receiver closed an idle connection while we were writing to it, as it may.
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

const client = got.extend({ retry: { limit: 0 }, throwHttpErrors: false, followRedirect: false, decompress: false });

type Read = { attempt: Attempt; stale: boolean };

/** Reads the response of a request in flight. Never rejects; the stream is finished or destroyed when it resolves. */
function read(stream: Request, timeoutMs: number): Promise<Read> {
  const startedAt = performance.now();
  const { promise, resolve } = Promise.withResolvers<Read>();
  const chunks: Buffer[] = [];
  let length = 0;
  let response: IncomingMessage | undefined;
  let settled = false;

  const settle = (result: Attempt, stale = false) => {
    if (settled) return;
    settled = true;
    clearTimeout(timer);
    resolve({ attempt: result, stale });
  };
  const timings = () => timingsOf(stream, Math.round(performance.now() - startedAt));
  const answered = () => {
    if (!response) return;
    const { statusCode = 0 } = response;
    const body = Buffer.concat(chunks).subarray(0, responseMaxBytes);
    settle({ kind: 'response', status: statusCode, headers: flatHeaders(response), body, timings: timings() });
  };
  const timer = setTimeout(() => {
    const { timings: reached } = stream;
    const connected = (stream.options.url as URL).protocol === 'https:' ? reached?.secureConnect : reached?.connect;
    const phase = response
      ? 'while reading the body'
      : connected === undefined
        ? 'while connecting'
        : 'while waiting for the head';
    settle({ kind: 'timeout', phase, timings: timings() });
    stream.destroy();
  }, timeoutMs);

  stream.on('response', (head: IncomingMessage) => {
    response = head;
  });
  stream.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    length += chunk.length;
    if (length < responseMaxBytes) return;
    // The rest is not wanted, and may have no end.
    answered();
    stream.destroy();
  });
  stream.once('end', answered);
  // 101: a final answer that is no success; the connection is not HTTP any more.
  stream.on('upgrade', (head: IncomingMessage, socket: Socket) => {
    socket.destroy();
    response = head;
    answered();
    stream.destroy();
  });
  stream.on('error', (error: Error & { code?: string }) => {
    const code = error.code ?? 'ERR_UNKNOWN';
    const hadResponse = response !== undefined;
    const stale = !hadResponse && stream.reusedSocket === true && (code === 'ECONNRESET' || code === 'EPIPE');
    settle({ kind: 'error', code, message: error.message, hadResponse, timings: timings() }, stale);
  });
  return promise;
}

function timingsOf(stream: Request, total: number): DeliveryTimings {
  const phases = stream.timings?.phases;
  // got repeats the phases of the first use of a connection; this attempt did not go through them.
  const reused = stream.reusedSocket === true;
  const isNew = (ms: number | undefined) => (reused || ms === undefined ? null : ms);
  return {
    dns: isNew(phases?.dns),
    connect: isNew(phases?.tcp),
    tls: isNew(phases?.tls),
    first_byte: phases?.firstByte ?? null,
    total,
  };
}

/** Repeated headers joined by a comma, as the log shows them. */
function flatHeaders(response: IncomingMessage): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(response.headers)) {
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return flat;
}

/** Connections that are kept, and ones that are not. */
type Pool<A> = { kept: A; fresh: A };

/** With `openTunnel` every connection goes through the proxy. */
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
  // Made once: reading a hundred roots for each connection would take longer than the delivery.
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

/** Bounds idle connections over all origins: many receivers must not exhaust file handles. */
function bounded<A extends HttpAgent>(agent: A): A {
  const keeps = agent as unknown as { keepSocketAlive(socket: Socket): boolean; totalSocketCount: number };
  const keepSocketAlive = keeps.keepSocketAlive.bind(agent);
  keeps.keepSocketAlive = (socket) => keeps.totalSocketCount <= idleInAll && keepSocketAlive(socket);
  return agent;
}
