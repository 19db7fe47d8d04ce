/** The ops port of a process: `/metrics`, `/livez`, `/readyz`, `/log-level` and what a service adds (docs/observability.md). */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { failingChecks, type ReadyCheck } from './checks.ts';
import { type Listening, listen } from './listen.ts';
import type { Log } from './log.ts';
import { answerLogLevel } from './log-level.ts';
import type { Registry } from './metrics.ts';
import { answerJson, mayOperate } from './ops-request.ts';

export type Ops = Listening;

/**
 * Opens the ops port. `/livez` answers 200 while the process runs; `/readyz` 200 with `{"status":"ready"}` while every check passes, otherwise
 * 503 with the names of those that fail; also 503 once the process is stopping. `/readyz?exclude=stores` is for load balancers: what all
 * instances share is away for all of them, and an instance that says so in the protocol's own form is of more use than none. Routes that
 * reveal more, or change something, are guarded (ops-request.ts).
 */
export async function openOps(options: {
  host: string;
  port: number;
  registry: Registry;
  /** What this process needs for itself. */
  ready?: Record<string, ReadyCheck>;
  /** What it shares with the other instances. */
  stores: Record<string, ReadyCheck>;
  /** Once aborted, `/readyz` answers 503. */
  stopping?: AbortSignal | undefined;
  log: Log;
  /** OPS_TOKEN. */
  token?: string | undefined;
  /** Guarded routes of the service, by path: each answers GET with JSON. */
  reports?: Record<string, () => unknown> | undefined;
  /** Answers any other request; false if it does not handle it either. */
  more?: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
}): Promise<Ops> {
  const server = createServer(async (request, response) => {
    const [path, query] = request.url?.split('?') ?? [];
    if (path === '/livez') return void response.writeHead(200, { 'content-type': 'text/plain' }).end('ok\n');
    if (path === '/metrics') {
      const body = await options.registry.metrics();
      return void response.writeHead(200, { 'content-type': options.registry.contentType }).end(body);
    }
    if (path === '/readyz') {
      if (options.stopping?.aborted) {
        const body = JSON.stringify({ status: 'stopping' });
        return void response.writeHead(503, { 'content-type': 'application/json' }).end(`${body}\n`);
      }
      const excluded = new URLSearchParams(query).getAll('exclude');
      if (excluded.some((one) => one !== 'stores'))
        return answerJson(response, 400, { error: 'exclude can only be stores' });
      const stores = excluded.length > 0 ? {} : options.stores;
      const failing = await failingChecks({ ...stores, ...options.ready });
      const ready = Object.keys(failing).length === 0;
      const body = JSON.stringify(ready ? { status: 'ready' } : { status: 'not ready', failing });
      return void response.writeHead(ready ? 200 : 503, { 'content-type': 'application/json' }).end(`${body}\n`);
    }
    if (path === '/log-level' || (path !== undefined && options.reports && Object.hasOwn(options.reports, path))) {
      const { token, log } = options;
      if (!mayOperate(request, token)) return refuse(response, token);
      if (path === '/log-level') return answerLogLevel(log, request, response);
      return answerReport(log, options.reports![path]!, response);
    }
    if (options.more?.(request, response)) return;
    response.writeHead(404, { 'content-type': 'text/plain' }).end('not found\n');
  });
  return listen(server, { host: options.host, port: options.port, closeWithinMs: 0 });
}

function refuse(response: ServerResponse, token: string | undefined): void {
  if (token === undefined) answerJson(response, 403, { error: 'only from this machine, unless OPS_TOKEN is set' });
  else answerJson(response, 401, { error: 'needs OPS_TOKEN as a bearer token' }, { 'www-authenticate': 'Bearer' });
}

async function answerReport(log: Log, report: () => unknown, response: ServerResponse): Promise<void> {
  try {
    answerJson(response, 200, await report());
  } catch (error) {
    log.warn({ error }, 'could not answer on the ops port');
    answerJson(response, 503, { error: 'a store is away' });
  }
}
