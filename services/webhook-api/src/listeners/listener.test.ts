import { EventEmitter } from 'node:events';
import type { ForwardRequest } from '@gatepost/contracts/forwarding';
import { expect, test } from '@jest/globals';
import type { WebSocket } from 'ws';
import { makeListener } from './listener.ts';

/** A socket whose other side reads when it is told to. */
function open({ protocol = '' } = {}) {
  const clock = { ms: 0 };
  const sent: string[] = [];
  const socket = Object.assign(new EventEmitter(), {
    protocol,
    bufferedAmount: 0,
    closedWith: undefined as number | undefined,
    send(text: string) {
      sent.push(text);
      this.bufferedAmount += text.length;
    },
    ping() {},
    close(code: number) {
      this.closedWith = code;
    },
  });
  const listener = makeListener(socket as unknown as WebSocket, { onEnd() {}, now: () => clock.ms });
  const look = (ms: number) => {
    clock.ms += ms;
    listener.look();
  };
  return { listener, socket, sent, look };
}

const request = (bytes: number, timeoutMs = 60_000): ForwardRequest => ({
  headers: {},
  timeoutMs,
  body: Buffer.alloc(bytes),
});

test('a listener that reads nothing for half a minute is cut off; one that reads slowly is not', async () => {
  const { listener, socket, look } = open();
  const answer = listener.deliver(request(30_000));
  for (let left = 30_000; left > 0; left -= 10_000) {
    socket.bufferedAmount = left;
    look(20_000);
  }
  expect(socket.closedWith).toBeUndefined();
  look(31_000);
  expect(socket.closedWith).toBe(1008);
  expect(await answer).toMatchObject({ kind: 'error', code: 'ECONNRESET' });
  expect(await listener.deliver(request(1))).toMatchObject({ kind: 'error', code: 'ECONNRESET' });
});

test('a listener without a sign of life for a minute is cut off, ten minutes while it may be in a debugger', async () => {
  const idle = open();
  idle.look(59_000);
  idle.socket.emit('pong', Buffer.alloc(0));
  idle.look(59_000);
  expect(idle.socket.closedWith).toBeUndefined();
  idle.look(2_000);
  expect(idle.socket.closedWith).toBe(1008);

  const atWork = open();
  const answer = atWork.listener.deliver(request(1));
  atWork.socket.bufferedAmount = 0;
  atWork.look(599_000);
  expect(atWork.socket.closedWith).toBeUndefined();
  atWork.look(2_000);
  expect(atWork.socket.closedWith).toBe(1008);
  expect(await answer).toMatchObject({ code: 'ECONNRESET' });
});

test('the queue of a listener holds 256 deliveries or 32 MiB, and one more is given back at once', async () => {
  const many = open();
  const waiting = Array.from({ length: 257 }, () => many.listener.deliver(request(1)));
  expect(await many.listener.deliver(request(1))).toEqual({ kind: 'busy' });
  expect(many.sent).toHaveLength(1);
  many.socket.emit('close');
  await Promise.all(waiting);

  const large = open();
  const some = Array.from({ length: 3 }, () => large.listener.deliver(request(16 * 1024 * 1024)));
  expect(await large.listener.deliver(request(1))).toEqual({ kind: 'busy' });
  expect(large.listener.bytes()).toBeGreaterThanOrEqual(48 * 1024 * 1024);
  large.socket.emit('close');
  await Promise.all(some);
  expect(large.listener.bytes()).toBe(0);
});

test('with the subprotocol 32 deliveries are in flight at once', async () => {
  const { listener, socket, sent } = open({ protocol: 'gatepost.v1' });
  const waiting = Array.from({ length: 40 }, () => listener.deliver(request(1)));
  expect(sent).toHaveLength(32);
  const { Id } = JSON.parse(sent[31]!);
  socket.emit('message', JSON.stringify({ Id, Status: 200 }));
  expect(await waiting[31]).toMatchObject({ status: 200 });
  expect(sent).toHaveLength(33);
  socket.emit('close');
  await Promise.all(waiting);
});

test('a delivery that a listener has not read keeps its place in the queue, even after it has timed out', async () => {
  const { listener, socket, sent } = open({ protocol: 'gatepost.v1' });
  const large = 16 * 1024 * 1024;
  const answers = await Promise.all(Array.from({ length: 3 }, () => listener.deliver(request(large, 1))));
  expect(answers).toEqual(answers.map(() => ({ kind: 'timeout' })));
  expect(listener.bytes()).toBeGreaterThan(3 * large);
  expect(await listener.deliver(request(1, 1))).toEqual({ kind: 'busy' });
  expect(sent).toHaveLength(3);
  socket.bufferedAmount = 0;
  expect(listener.bytes()).toBe(0);
  expect(await listener.deliver(request(1, 1))).toEqual({ kind: 'timeout' });
  socket.emit('close');
});
