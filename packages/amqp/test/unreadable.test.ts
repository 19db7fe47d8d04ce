import { deadEventsQueue, topology } from '@gatepost/contracts/topology';
import { openLog } from '@gatepost/runtime/log';
import { freshVhost } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import { connect } from 'amqplib';
import { type Incoming, openConsumer } from '../src/consumer.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync(), 30_000);
const vhost = stack.use(await freshVhost());
const log = openLog('test', 'silent');

// amqplib's stack overflowed, which ended the connection; the message came again with the next one, and nothing behind it ever did.
test('a message with tables nested ten thousand deep is accepted without its headers, and later messages follow', async () => {
  const messages: Incoming[] = [];
  const consumer = stack.use(
    await openConsumer({
      url: vhost.url,
      name: 'test',
      log,
      topology,
      queue: deadEventsQueue,
      prefetch: 10,
      onMessage(message) {
        messages.push(message);
        message.ack();
      },
    }),
  );
  const publishing = await connect(vhost.url);
  const channel = await publishing.createConfirmChannel();
  const { stream } = publishing.connection as unknown as { stream: NodeJS.WritableStream };
  stream.write(rawMessage(1, deadEventsQueue, nested(10_000), Buffer.from('deep')));
  const behind = { headers: { well: 'formed' } };
  for (const body of ['one', 'two']) channel.sendToQueue(deadEventsQueue, Buffer.from(body), behind);

  await until('all three', () => messages.length >= 3);
  expect(messages.map(({ body }) => body.toString())).toEqual(['deep', 'one', 'two']);
  expect(messages.map(({ headers }) => headers)).toEqual([{}, { well: 'formed' }, { well: 'formed' }]);
  expect(messages.every(({ redelivered }) => !redelivered)).toBe(true);
  expect(consumer.isConnected()).toBe(true);
  await publishing.close();
});

/** basic.publish to a queue, with these bytes as the table of headers: amqplib would not write them. */
function rawMessage(channel: number, queue: string, headers: Buffer, body: Buffer): Buffer {
  const publish = Buffer.concat([
    Buffer.from([0, 60, 0, 40, 0, 0, 0, queue.length]),
    Buffer.from(queue),
    Buffer.from([0]),
  ]);
  const head = Buffer.alloc(18);
  head.writeUInt16BE(60, 0);
  head.writeBigUInt64BE(BigInt(body.length), 4);
  head.writeUInt16BE(0x2000, 12); // headers, and no other property
  head.writeUInt32BE(headers.length, 14);
  return Buffer.concat([
    frame(1, channel, publish),
    frame(2, channel, Buffer.concat([head, headers])),
    frame(3, channel, body),
  ]);
}

function frame(type: number, channel: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(7);
  head[0] = type;
  head.writeUInt16BE(channel, 1);
  head.writeUInt32BE(payload.length, 3);
  return Buffer.concat([head, payload, Buffer.from([0xce])]);
}

/** A table with one member, a table with one member, and so on. */
function nested(depth: number): Buffer {
  const tables = Array.from({ length: depth }, (_, level) => {
    const table = Buffer.from([1, 0x61, 0x46, 0, 0, 0, 0]);
    table.writeUInt32BE((depth - 1 - level) * 7, 3);
    return table;
  });
  return Buffer.concat(tables);
}
