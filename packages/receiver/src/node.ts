import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Handler, openReceive, type ReceiverOptions } from './receive.ts';

/** For Express and `node:http`. It reads the body itself: `app.post('/hook', nodeReceiver(…))` must come before `express.json()`. */
export function nodeReceiver(options: ReceiverOptions, handle: Handler) {
  const receive = openReceive(options, handle);
  return async (request: IncomingMessage & { body?: unknown }, response: ServerResponse): Promise<void> => {
    const { status, headers, text } = await receive(request.method, headerOf(request), bodyOf(request));
    response.writeHead(status, headers).end(text);
  };
}

export const headerOf = (request: IncomingMessage) => (name: string) => [request.headers[name]].flat()[0];

/** From an earlier parser that kept the bytes, else from the socket; null when they are gone. */
export function bodyOf(request: IncomingMessage & { body?: unknown }) {
  if (request.body instanceof Uint8Array) return [request.body];
  return request.readableDidRead ? null : request.iterator({ destroyOnReturn: false });
}
