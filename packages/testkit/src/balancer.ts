/** A load balancer as operators have one: it asks each instance for `/readyz`, sends requests in turn to those that are ready, and passes every byte on. */
import { Agent, createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Backend = { port: number; opsUrl: string };
export type Balancer = AsyncDisposable & { port: number };

/** How soon it knows that an instance is ready no more; a service that stops goes on serving for longer than that (STOP_DELAY_MS). */
const askEveryMs = 100;

export async function openBalancer(backends: Backend[], port = 0): Promise<Balancer> {
  const agent = new Agent({ keepAlive: true });
  const ready = new Set<Backend>();
  let turn = 0;
  const ask = async (backend: Backend) => {
    const isReady = await fetch(`${backend.opsUrl}/readyz`, { signal: AbortSignal.timeout(2_000) }).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) ready.add(backend);
    else ready.delete(backend);
  };
  let closed = false;
  const asking = backends.map(async (backend) => {
    while (!closed) {
      await ask(backend);
      await new Promise((resolve) => setTimeout(resolve, askEveryMs));
    }
  });
  const pass = (incoming: IncomingMessage, answer: ServerResponse) => {
    const able = backends.filter((backend) => ready.has(backend));
    turn += 1;
    const backend = able[turn % Math.max(1, able.length)];
    if (!backend) return void answer.writeHead(502).end('no instance is ready');
    const { method, url, headers } = incoming;
    const passed = send({ host: '127.0.0.1', port: backend.port, method, path: url, headers, agent }, (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer);
    });
    passed.once('error', (error) => {
      if (answer.headersSent) answer.destroy();
      else answer.writeHead(502).end(`${backend.port}: ${error.message}`);
    });
    incoming.pipe(passed);
  };
  const server = createServer(pass);
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      closed = true;
      await Promise.all(asking);
      agent.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
