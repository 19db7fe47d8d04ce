import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Handler, openReceive, type ReceiverOptions } from './receive.ts';

/** For Express and `node:http`. It reads the body itself: `app.post('/hook', nodeReceiver(…))` stands before `express.json()`. */
export function nodeReceiver(options: ReceiverOptions, handle: Handler) {
  const receive = openReceive(options, handle);
  return async (request: IncomingMessage & { body?: unknown }, response: ServerResponse): Promise<void> => {
    const { status, headers, text } = await receive(request.method, headerOf(request), bodyOf(request));
    response.writeHead(status, headers).end(text);
  };
}

export const headerOf = (request: IncomingMessage) => (name: string) => [request.headers[name]].flat()[0];

/** From a parser before us that kept the bytes, else from the socket; null when nobody has them any more. */
export function bodyOf(request: IncomingMessage & { body?: unknown }) {
  if (request.body instanceof Uint8Array) return [request.body];
  return request.readableDidRead ? null : request.iterator({ destroyOnReturn: false });
}
