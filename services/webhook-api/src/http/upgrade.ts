/**
 * WebSocket requests (RFC 6455 section 4) pass through the application like any other, with the same tokens, scopes, limits and log. An
 * operation may take the connection out of HTTP; otherwise the answer is written to it, and ends it.
 */
import { type IncomingMessage, type RequestListener, type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** A connection whose request asks to become a WebSocket. */
export type Upgrade = {
  request: IncomingMessage;
  socket: Socket;
  /** What arrived after the request's head. */
  head: Buffer;
  /** Takes the connection out of HTTP; false when the request has been answered already, or its connection is gone. */
  take(): boolean;
};

const upgrades = new WeakMap<IncomingMessage, Upgrade>();

export const upgradeOf = (request: IncomingMessage): Upgrade | undefined => upgrades.get(request);

/** A request to upgrade to anything else (`h2c`, by curl), or with a body, which would be lost, is answered as if it had not asked. */
export const shouldUpgradeCallback = ({ method, headers }: IncomingMessage): boolean =>
  method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket';

export function takeUpgrades(server: Server, app: RequestListener): void {
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    socket.on('error', () => socket.destroy());
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once('finish', () => socket.destroySoon());
    upgrades.set(request, {
      request,
      socket,
      head,
      take() {
        // A client that has ended its side leaves the socket open on ours: the library would drop it without a word to anybody.
        if (response.headersSent || socket.destroyed || !socket.readable || !socket.writable) return false;
        response.statusCode = 101;
        response.detachSocket(socket);
        response.emit('close');
        return true;
      },
    });
    app(request, response);
  });
}
