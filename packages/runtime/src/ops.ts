/** The ops port of a process: `/metrics`, `/livez`, `/readyz` and nothing else. */
import { createServer } from 'node:http';
import { type Listening, listen } from './listen.ts';
import type { Registry } from './metrics.ts';

/** A readiness check: resolves while what it looks at can be used, rejects with the reason otherwise. */
export type ReadyCheck = () => Promise<unknown> | unknown;

export type Ops = Listening;

const checkTimeoutMs = 2_000;

/**
 * Opens the ops port. `/livez` answers 200 while the process runs; `/readyz` 200 with `{"status":"ready"}` while every check
 * passes, else 503 with the names of those that fail.
 */
export async function openOps(options: {
  host: string;
  port: number;
  registry: Registry;
  ready: Record<string, ReadyCheck>;
}): Promise<Ops> {
  const server = createServer(async (request, response) => {
    const path = request.url?.split('?')[0];
    if (path === '/livez') return void response.writeHead(200, { 'content-type': 'text/plain' }).end('ok\n');
    if (path === '/metrics') {
      const body = await options.registry.metrics();
      return void response.writeHead(200, { 'content-type': options.registry.contentType }).end(body);
    }
    if (path === '/readyz') {
      const failing = await failingChecks(options.ready);
      const ready = Object.keys(failing).length === 0;
      const body = JSON.stringify(ready ? { status: 'ready' } : { status: 'not ready', failing });
      return void response.writeHead(ready ? 200 : 503, { 'content-type': 'application/json' }).end(`${body}\n`);
    }
    response.writeHead(404, { 'content-type': 'text/plain' }).end('not found\n');
  });
  return listen(server, { host: options.host, port: options.port, closeWithinMs: 0 });
}

async function failingChecks(checks: Record<string, ReadyCheck>): Promise<Record<string, string>> {
  const results = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => {
      const timeout = Promise.withResolvers<never>();
      const timer = setTimeout(() => timeout.reject(new Error(`no answer in ${checkTimeoutMs} ms`)), checkTimeoutMs);
      try {
        await Promise.race([check(), timeout.promise]);
        return undefined;
      } catch (error) {
        return [name, reasonOf(error)] as const;
      } finally {
        clearTimeout(timer);
      }
    }),
  );
  return Object.fromEntries(results.filter((result) => result !== undefined));
}

/** The message of the original error: the outer one may only say what a client is to be told. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? reasonOf(error.cause) : error.message;
}
