import { once } from 'node:events';
import { Agent, createServer, type RequestListener, request } from 'node:http';
import { connect } from 'node:net';
import { expect, test } from '@jest/globals';
import { listen } from './listen.ts';

const agent = new Agent({ keepAlive: true });
const open = (answer: RequestListener, closeWithinMs: number) =>
  listen(createServer({ keepAliveTimeout: 300_000 }, answer), { host: '127.0.0.1', port: 0, closeWithinMs });

test('a client being answered when the server closes gets the whole answer, and its connection is not kept', async () => {
  const held = Promise.withResolvers<() => void>();
  const server = await open((_request, response) => {
    response.write('one');
    held.resolve(() => response.end('two'));
  }, 300_000);
  const asked = request({ agent, port: server.port, host: '127.0.0.1' }).end();
  const [answer] = await once(asked, 'response');
  const release = await held.promise;
  const closed = server[Symbol.asyncDispose]();
  release();
  let body = '';
  for await (const part of answer) body += part;
  expect(body).toBe('onetwo');
  await closed;
});

test('a client that takes longer than a closing server waits is cut off', async () => {
  const asked = Promise.withResolvers<void>();
  const server = await open(() => asked.resolve(), 1);
  const waiting = request({ agent, port: server.port, host: '127.0.0.1' }).end();
  const cut = once(waiting, 'error');
  await asked.promise;
  await server[Symbol.asyncDispose]();
  expect(await cut).toEqual([expect.objectContaining({ code: 'ECONNRESET' })]);
});

test('a client that has connected and sent nothing does not keep the server from closing', async () => {
  const server = await open(() => {}, 300_000);
  const silent = connect(server.port, '127.0.0.1');
  const cut = once(silent, 'close');
  await once(silent, 'connect');
  await server[Symbol.asyncDispose]();
  await cut;
});
