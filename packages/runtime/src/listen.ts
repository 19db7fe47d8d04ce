/** Opens a listening server, and closes it without cutting off requests in progress. */
import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

export type Listening = AsyncDisposable & { port: number };

const lookEveryMs = 50;
/** By then any request sent on a new connection has arrived. */
const unusedMs = 1_000;

/** @param closeWithinMs how long requests in progress may take once closing begins; then their connections are cut */
export async function listen(
  server: Server,
  { host, port, closeWithinMs }: { host: string; port: number; closeWithinMs: number },
): Promise<Listening> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port, // it listens on TCP
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      // Node closes connections that are idle now; one whose request ends later would stay open for another.
      const idle = setInterval(() => server.closeIdleConnections(), lookEveryMs);
      // Browsers open connections that they may never use. Node does not consider them idle, but late with their first request.
      const unused = setTimeout(() => {
        for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
      }, unusedMs);
      const late = setTimeout(() => server.closeAllConnections(), closeWithinMs);
      await closed;
      clearInterval(idle);
      clearTimeout(unused);
      clearTimeout(late);
    },
  };
}
