/** The listening socket: opened, and closed without cutting off who is being answered. */
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

const closeDeadlineMs = 6_000;

export async function openServer(
  server: Server,
  options: { host: string; port: number },
): Promise<AsyncDisposable & { port: number }> {
  // A head must be there soon and a body not much later: an open connection costs memory.
  server.headersTimeout = 10_000;
  server.requestTimeout = 30_000;
  // Longer than the idle time of the usual proxies, so that they close first and never write into a closed connection.
  server.keepAliveTimeout = 65_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port, // it listens on TCP
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeIdleConnections();
      const timer = setTimeout(() => server.closeAllConnections(), closeDeadlineMs);
      await closed;
      clearTimeout(timer);
    },
  };
}
