/** A typical load balancer: polls each instance's `/readyz?exclude=stores`, sends requests to the ready ones in turn, and passes every byte on. */
import { Agent, createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

export type Backend = { port: number; opsUrl: string };
/** An observation about an instance, by `Date.now()`. */
export type Noticed = { port: number; at: number };
export type Balancer = AsyncDisposable & {
  port: number;
  /** An instance reported that it is ready; `at` is when it was asked. */
  saidReady: Noticed[];
  /** An instance considered ready accepted no connection, so another got the request. */
  refused: Noticed[];
};

/** How soon it notices that an instance is no longer ready; a stopping service keeps serving for longer than that (STOP_DELAY_MS). */
const askEveryMs = 100;

export async function openBalancer(backends: Backend[], port = 0): Promise<Balancer> {
  const agent = new Agent({ keepAlive: true });
  const ready = new Set<Backend>();
  const saidReady: Noticed[] = [];
  const refused: Noticed[] = [];
  let turn = 0;
  const ask = async (backend: Backend) => {
    const at = Date.now();
    const isReady = await fetch(`${backend.opsUrl}/readyz?exclude=stores`, { signal: AbortSignal.timeout(2_000) }).then(
      ({ ok }) => ok,
      () => false,
    );
    if (!isReady) return void ready.delete(backend);
    ready.add(backend);
    saidReady.push({ port: backend.port, at });
  };
  let closed = false;
  const asking = backends.map(async (backend) => {
    while (!closed) {
      await ask(backend);
      await new Promise((resolve) => setTimeout(resolve, askEveryMs));
    }
  });
  const pass = async (incoming: IncomingMessage, answer: ServerResponse) => {
    const { method, url, headers } = incoming;
    const body = await buffer(incoming);
    const passTo = (left: Backend[]) => {
      turn += 1;
      const backend = left[turn % Math.max(1, left.length)];
      if (!backend) return void answer.writeHead(502).end('no instance takes a connection');
      const passed = send({ host: '127.0.0.1', port: backend.port, method, path: url, headers, agent }, (response) => {
        answer.writeHead(response.statusCode ?? 502, response.headers);
        response.pipe(answer);
      });
      passed.once('error', (error: NodeJS.ErrnoException) => {
        if (answer.headersSent) return void answer.destroy();
        // Nothing was sent: the instance accepted no connection, or had closed a reused one.
        if (error.code !== 'ECONNREFUSED' && !(error.code === 'ECONNRESET' && passed.reusedSocket))
          return void answer.writeHead(502).end(`${backend.port}: ${error.message}`);
        refused.push({ port: backend.port, at: Date.now() });
        passTo(left.filter((other) => other !== backend));
      });
      passed.end(body);
    };
    // If none counts as ready, as when a busy machine answers late, it tries them all, like nginx.
    passTo(ready.size > 0 ? backends.filter((backend) => ready.has(backend)) : backends);
  };
  const server = createServer((incoming, answer) => void pass(incoming, answer).catch(() => answer.destroy()));
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    saidReady,
    refused,
    async [Symbol.asyncDispose]() {
      closed = true;
      await Promise.all(asking);
      agent.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
