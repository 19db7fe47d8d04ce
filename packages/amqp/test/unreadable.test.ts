import { deadEventsQueue, topology } from '@gatepost/contracts/topology';
import { openLog } from '@gatepost/runtime/log';
import { publishRaw } from '@gatepost/testkit/raw-message';
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
  await publishRaw(vhost.url, deadEventsQueue, nested(10_000), Buffer.from('deep'));
  const behind = { headers: { well: 'formed' } };
  for (const body of ['one', 'two']) channel.sendToQueue(deadEventsQueue, Buffer.from(body), behind);

  await until('all three', () => messages.length >= 3);
  expect(messages.map(({ body }) => body.toString())).toEqual(['deep', 'one', 'two']);
  expect(messages.map(({ headers }) => headers)).toEqual([{}, { well: 'formed' }, { well: 'formed' }]);
  expect(messages.every(({ redelivered }) => !redelivered)).toBe(true);
  expect(consumer.isConnected()).toBe(true);
  await publishing.close();
});

/** A table with one member, a table with one member, and so on. */
function nested(depth: number): Buffer {
  const tables = Array.from({ length: depth }, (_, level) => {
    const table = Buffer.from([1, 0x61, 0x46, 0, 0, 0, 0]);
    table.writeUInt32BE((depth - 1 - level) * 7, 3);
    return table;
  });
  return Buffer.concat(tables);
}
