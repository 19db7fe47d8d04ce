/** The demo's receiver, as a recipient of webhooks would write it. It verifies each signature and keeps what arrived. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { verify } from '@octokit/webhooks-methods';

export type Received = { event: string; guid: string; body: string; verified: boolean; at: number };

export type DemoReceiver = AsyncDisposable & {
  url: string;
  /** The delivery with this guid; waits for it, at most `timeoutMs`. */
  waitFor(guid: string, timeoutMs: number): Promise<Received>;
};

/** Listens on `host`; `npm start` allows deliveries to 127.0.0.2, while other loopback addresses stay forbidden. */
export async function openDemoReceiver(secret: string, host: string): Promise<DemoReceiver> {
  const received = new Map<string, Received>();
  let arrived = Promise.withResolvers<void>();
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString('utf8');
    const signature = String(request.headers['x-hub-signature-256'] ?? '');
    const verified = signature !== '' && (await verify(secret, body, signature));
    response.writeHead(verified ? 200 : 401).end();
    const guid = String(request.headers['x-github-delivery']);
    received.set(guid, {
      event: String(request.headers['x-github-event']),
      guid,
      body,
      verified,
      at: performance.now(),
    });
    arrived.resolve();
    arrived = Promise.withResolvers();
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${host}:${port}/hook`,
    async waitFor(guid, timeoutMs) {
      const timeout = AbortSignal.timeout(timeoutMs);
      const aborted = new Promise<never>((_, reject) => {
        timeout.addEventListener('abort', () => reject(new Error(`no delivery ${guid} within ${timeoutMs / 1000} s`)));
      });
      aborted.catch(() => {}); // perhaps nobody is waiting any more
      for (;;) {
        const found = received.get(guid);
        if (found) return found;
        await Promise.race([arrived.promise, aborted]);
      }
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
