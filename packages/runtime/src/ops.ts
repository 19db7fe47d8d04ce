/** The ops port of a process: `/metrics`, `/livez`, `/readyz` and what a service adds. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { failingChecks, type ReadyCheck } from './checks.ts';
import { type Listening, listen } from './listen.ts';
import type { Registry } from './metrics.ts';

export type Ops = Listening;

/**
 * Opens the ops port. `/livez` answers 200 while the process runs; `/readyz` 200 with `{"status":"ready"}` while every check
 * passes, else 503 with the names of those that fail; 503 also once the process is to stop.
 */
export async function openOps(options: {
  host: string;
  port: number;
  registry: Registry;
  ready: Record<string, ReadyCheck>;
  /** From when it aborts on, `/readyz` answers 503. */
  stopping?: AbortSignal | undefined;
  /** Answers what is none of these; false if it is not for it either. */
  more?: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
}): Promise<Ops> {
  const server = createServer(async (request, response) => {
    const path = request.url?.split('?')[0];
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
      const failing = await failingChecks(options.ready);
      const ready = Object.keys(failing).length === 0;
      const body = JSON.stringify(ready ? { status: 'ready' } : { status: 'not ready', failing });
      return void response.writeHead(ready ? 200 : 503, { 'content-type': 'application/json' }).end(`${body}\n`);
    }
    if (options.more?.(request, response)) return;
    response.writeHead(404, { 'content-type': 'text/plain' }).end('not found\n');
  });
  return listen(server, { host: options.host, port: options.port, closeWithinMs: 0 });
}
