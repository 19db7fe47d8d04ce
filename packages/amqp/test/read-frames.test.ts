import { randomBytes } from 'node:crypto';
import { deadEventsQueue, topology } from '@gatepost/contracts/topology';
import { openLog } from '@gatepost/runtime/log';
import { freshVhost } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import { connect } from 'amqplib';
import { openConsumer } from '../src/consumer.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync(), 30_000);

const megabyte = 1024 * 1024;
const frame = 131_072 - 8;

test('messages of all sizes arrive byte for byte and in order, and threads can read the large ones', async () => {
  const vhost = stack.use(await freshVhost());
  const sizes = [0, 1, 7, frame - 1, frame, frame + 1, 3, megabyte, megabyte + 1, 2, 5 * frame, 3 * megabyte + 17, 11];
  const bodies = sizes.map((size) => randomBytes(size));
  const publishing = await connect(vhost.url);
  const channel = await publishing.createConfirmChannel();
  const received: Buffer[] = [];
  stack.use(
    await openConsumer({
      url: vhost.url,
      name: 'test',
      log: openLog('test', 'silent'),
      topology,
      queue: deadEventsQueue,
      prefetch: 100,
      onMessage(message) {
        received.push(message.body);
        message.ack();
      },
    }),
  );
  for (const body of bodies) channel.sendToQueue(deadEventsQueue, body);
  await until('all have come', () => received.length === bodies.length);
  expect(received.map((body, index) => body.equals(bodies[index]!))).toEqual(bodies.map(() => true));
  const shared = received.filter(({ buffer }) => (buffer as ArrayBufferLike) instanceof SharedArrayBuffer);
  expect(shared.map(({ length }) => length)).toEqual([megabyte + 1, 3 * megabyte + 17]);
  await publishing.close();
});
