/** A gate and a webhook API at one address, as the command line sees them, and the command line as a program. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inherited } from '@gatepost/testkit/system';

export type Asked = { method: string; query: URLSearchParams; body: string; form: URLSearchParams };
/** The answer's JSON, a `Reply`, or a text (of events); undefined: what every gate answers there, or 404; a promise is waited for. */
type Answer = (asked: Asked) => unknown;

export class Reply {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Record<string, string>;
  constructor(status: number, body: unknown = {}, headers: Record<string, string> = {}) {
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

/** An answer beyond the hourly limit of requests, as the API gives it until `reset`, in seconds since 1970. */
export const usedUp = (reset: number): Reply =>
  new Reply(
    403,
    { message: 'API rate limit exceeded for ci.', status: '403' },
    { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(reset), 'x-oauth-scopes': 'repo' },
  );

export type Gate = AsyncDisposable & {
  url: string;
  server: Server;
  /** Of a machine that needs no sign-in. */
  machine: Record<string, string>;
};

/** @param answers by path, before those that every sign-in needs */
export async function openGate(answers: Record<string, Answer>): Promise<Gate> {
  const server = createServer(async (request, response) => {
    const { pathname, searchParams: query } = new URL(request.url!, url);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    const asked = { method: request.method!, query, body, form: new URLSearchParams(body) };
    const answer = (await answers[pathname]?.(asked)) ?? (await known[pathname]?.(asked));
    const reply = answer instanceof Reply ? answer : new Reply(answer ? 200 : 404, answer ?? { message: 'Not Found' });
    response
      .writeHead(reply.status, reply.headers)
      .end(typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const issuer = `${url}/`;
  const known: Record<string, Answer> = {
    '/.well-known/oauth-protected-resource': () => ({ resource: issuer, authorization_servers: [issuer] }),
    '/.well-known/openid-configuration': () => ({
      issuer,
      token_endpoint: `${url}/oauth/token`,
      device_authorization_endpoint: `${url}/oauth/device/code`,
      revocation_endpoint: `${url}/oauth/revoke`,
    }),
    '/oauth/token': () => ({ access_token: 't', expires_in: 3600, token_type: 'Bearer' }),
    '/user': () => ({ login: 'someone', type: 'User' }),
  };
  return {
    url,
    server,
    machine: { GATEPOST_API: url, GATEPOST_CLIENT_ID: 'ci', GATEPOST_CLIENT_SECRET: 's' },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export const newFolder = (): string => mkdtempSync(path.join(tmpdir(), 'cli-'));

export type Started = {
  child: ChildProcess;
  /** What it has written so far. */
  out(): string;
  err(): string;
  ended: Promise<{ code: number | null; out: string; err: string }>;
};

const main = path.join(import.meta.dirname, '../src/main.ts');

/** Starts the command line; standard input stays open until `input` is given. */
export function start(args: string[], env: Record<string, string>, input?: string): Started {
  const child = spawn(process.execPath, ['--conditions=source', main, ...args], {
    env: { ...inherited, GATEPOST_CONFIG_DIR: path.join(newFolder(), 'config'), ...env },
  });
  const written = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text) => {
    written.out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    written.err += text;
  });
  child.stdin.on('error', () => {});
  if (input !== undefined) child.stdin.end(input);
  return {
    child,
    out: () => written.out,
    err: () => written.err,
    ended: once(child, 'close').then(([code]) => ({ code, ...written })),
  };
}

/** Runs the command line to its end. */
export const gatepost = (args: string[], env: Record<string, string>, input = '') => start(args, env, input).ended;
