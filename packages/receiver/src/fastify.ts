import type { IncomingMessage } from 'node:http';
import { bodyOf, headerOf } from './node.ts';
import { type Handler, openReceive, type ReceiverOptions } from './receive.ts';

/** The parts of Fastify that are used, so that users of other frameworks need not install it. */
type Fastify = {
  removeAllContentTypeParsers(): unknown;
  addContentTypeParser(type: string, parse: (a: unknown, b: unknown, done: (no: null) => void) => void): unknown;
  all(path: string, handle: (request: { raw: IncomingMessage }, reply: Reply) => Promise<unknown>): unknown;
};
type Reply = { code(status: number): Reply; headers(headers: object): Reply; send(text: string): unknown };

/** A plugin: `app.register(fastifyReceiver(…), { prefix: '/hook' })`. Its parsers are limited to its scope. */
export function fastifyReceiver(options: ReceiverOptions, handle: Handler) {
  const receive = openReceive(options, handle);
  return async (fastify: Fastify): Promise<void> => {
    fastify.removeAllContentTypeParsers();
    fastify.addContentTypeParser('*', (_request, _body, done) => done(null)); // leaves the body on the socket
    fastify.all('/', async ({ raw }, reply) => {
      const { status, headers, text } = await receive(raw.method, headerOf(raw), bodyOf(raw));
      return reply.code(status).headers(headers).send(text);
    });
  };
}
