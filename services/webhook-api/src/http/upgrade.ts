/**
 * Requests that ask for a WebSocket (RFC 6455 section 4) pass the application like any other, so that tokens, scopes, limits and the log
 * are those of any request. An operation may take the connection out of HTTP; otherwise the answer is written to it, and ends it.
 */
import { type IncomingMessage, type RequestListener, type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Token } from '../access/token.ts';

/** A connection of which its request asks to become a WebSocket. */
export type Upgrade = {
  request: IncomingMessage;
  socket: Socket;
  /** What came behind the request's head. */
  head: Buffer;
  /** Takes the connection out of HTTP; false when the request is answered already, or its connection is gone. */
  take(): boolean;
};

/** The same as an operation gets it. `authenticate`: looks at its token anew. */
export type AskedUpgrade = Upgrade & { authenticate(): Promise<Token | undefined> };

const upgrades = new WeakMap<IncomingMessage, Upgrade>();

export const upgradeOf = (request: IncomingMessage): Upgrade | undefined => upgrades.get(request);

/** Who asks for anything else but a WebSocket (`h2c`, by curl), or by a request with a body, which would be lost, is answered as if he did not. */
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
        if (response.headersSent || socket.destroyed) return false;
        response.statusCode = 101;
        response.detachSocket(socket);
        response.emit('close');
        return true;
      },
    });
    app(request, response);
  });
}
