import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { until } from '@gatepost/testkit/until';
import { expect, test } from '@jest/globals';
import type { Response } from 'express';
import type { ApiError } from './errors.ts';
import { makeUnread } from './unread.ts';

// More than what the operating system takes for a client that reads nothing.
const answer = Buffer.alloc(20_000_000, 'x');

/** Serves `answer` to callers named by the path. */
async function openServer(options: Parameters<typeof makeUnread>[0]) {
  const unread = makeUnread(options);
  const ended: string[] = [];
  const server = createServer((request, response) => {
    const caller = request.url!;
    unread.check(caller, answer.length);
    request.socket.once('close', () => ended.push(caller));
    response.end(answer);
    unread.watch(caller, response as Response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const sockets = new DisposableStack();
  return {
    ended,
    /** Asks as these callers on one connection, and reads nothing. */
    async ask(...callers: string[]) {
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
      sockets.defer(() => socket.destroy());
      socket.on('error', () => {}); // it is cut off
      socket.write(callers.map((caller) => `GET ${caller} HTTP/1.1\r\nHost: x\r\n\r\n`).join(''));
      await once(socket, 'readable');
      return socket;
    },
    refuses(caller: string, bytes = answer.length) {
      try {
        unread.check(caller, bytes);
        return false;
      } catch (error) {
        return (error as ApiError).status === 429;
      }
    },
    async [Symbol.asyncDispose]() {
      sockets.dispose();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test('a caller that leaves large answers unread gets no more of them until they are read or given up; others do', async () => {
  await using server = await openServer({ perCallerMaxBytes: 50_000_000 });
  const first = await server.ask('/a');
  expect(server.refuses('/a')).toBe(false);
  const second = await server.ask('/a');
  expect([server.refuses('/a'), server.refuses('/a', 1_000), server.refuses('/b')]).toEqual([true, false, false]);
  first.resume();
  await until('one is read', () => !server.refuses('/a'));
  await server.ask('/a');
  expect(server.refuses('/a')).toBe(true);
  second.destroy();
  await until('one is given up', () => !server.refuses('/a'));
});

test('an answer that waits behind another on its connection counts, and no longer when that closes', async () => {
  await using server = await openServer({ perCallerMaxBytes: 50_000_000 });
  const socket = await server.ask('/a', '/a');
  await until('both count', () => server.refuses('/a'));
  socket.destroy();
  await until('none counts', () => !server.refuses('/a', 49_000_000));
});

test('a client that stops reading an answer is cut off', async () => {
  await using server = await openServer({ stillMs: 100 });
  await server.ask('/a');
  await until('it is cut off', () => server.ended.includes('/a'));
  expect(server.refuses('/a', 60_000_000)).toBe(false);
});

test('of more than all together may leave unread, the earliest is cut off', async () => {
  await using server = await openServer({ maxBytes: 50_000_000 });
  await server.ask('/a');
  await server.ask('/b');
  expect(server.ended).toEqual([]);
  await server.ask('/c');
  await until('one is cut off', () => server.ended.length > 0);
  expect(server.ended).toEqual(['/a']);
});
