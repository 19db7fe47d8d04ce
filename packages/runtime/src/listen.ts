/** Opens a listening server, and closes it without cutting off requests under way. */
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Listening = AsyncDisposable & { port: number };

const lookEveryMs = 50;

/** @param closeWithinMs how long requests under way may take after it starts to close; then their connections are cut */
export async function listen(
  server: Server,
  { host, port, closeWithinMs }: { host: string; port: number; closeWithinMs: number },
): Promise<Listening> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port, // it listens on TCP
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      // Node closes connections that are idle now; one whose request ends later would stay open for the next request.
      const idle = setInterval(() => server.closeIdleConnections(), lookEveryMs);
      const late = setTimeout(() => server.closeAllConnections(), closeWithinMs);
      await closed;
      clearInterval(idle);
      clearTimeout(late);
    },
  };
}
