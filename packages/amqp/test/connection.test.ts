import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { topology } from '@gatepost/contracts/topology';
import { openLog } from '@gatepost/runtime/log';
import { openCuttable } from '@gatepost/testkit/cut';
import { openRelay } from '@gatepost/testkit/relay';
import { freshVhost } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import { connect as connectTo } from 'amqplib';
import { openConnection } from '../src/connection.ts';
import { openConsumer } from '../src/consumer.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const vhost = stack.use(await freshVhost());
const log = openLog('test', 'silent');

test('a connection that breaks during its setup is made again', async () => {
  // amqplib listens to no 'error' then: the process used to end.
  await using broker = await openCuttable(vhost.url);
  let setups = 0;
  const connection = await openConnection({ url: broker.url, name: 'test', log, topology }, async (model) => {
    setups += 1;
    if (setups > 1) return;
    await broker.cut();
    await broker.restore();
    await model.createChannel(); // never opens
  });
  expect(setups).toBe(2);
  expect(connection.isConnected()).toBe(true);
  await connection.close();
});

// It took a minute: six tries of ten seconds.
test('a broker that accepts connections and says nothing is given up on in time', async () => {
  await using silent = await openRelay(vhost.url, (client) => client.resume());
  const opening = openConnection(
    { url: silent.url, name: 'test', log, topology, initialTimeoutMs: 300 },
    async () => {},
  );
  await expect(opening).rejects.toThrow('the broker did not answer within 300 ms');
});

test('a broker that falls silent after a failed setup does not stop the reconnecting', async () => {
  // amqplib waits for the answer to its close, and used to do so for ever.
  await using relay = await openFreezable(vhost.url);
  let setups = 0;
  const opening = openConnection({ url: relay.url, name: 'test', log, topology }, async () => {
    setups += 1;
    if (setups > 1) return;
    relay.freeze();
    throw new Error('the queue is not there yet');
  });
  await until('a second setup', () => setups === 2);
  await (await opening).close();
});

test('closing a connection whose broker has fallen silent ends its socket, which would keep the process alive', async () => {
  await using relay = await openFreezable(vhost.url);
  let socket: Socket | undefined;
  const connection = await openConnection({ url: relay.url, name: 'test', log, topology }, async (model) => {
    socket = (model.connection as unknown as { stream: Socket }).stream; // the typings leave it out
  });
  relay.freeze();
  await connection.close();
  expect(socket!.destroyed).toBe(true);
});

// Not every call of a connection that breaks settles in amqplib: who was cut at some of these never came back, or never closed.
test.each(['asks', 'is answered'])(
  'a connection that is cut as it %s, at any point, is made again and can be closed',
  async (when) => {
    await Promise.all(
      Array.from({ length: 16 }, async (_, before) => {
        let chunks = 0;
        await using relay = await openRelay(vhost.url, (client, server) => {
          const pass = (from: Socket, to: Socket, isCounted: boolean) =>
            from.on('data', (chunk) => {
              if (isCounted && chunks++ === before) for (const socket of [client, server]) socket.destroy();
              else to.write(chunk);
            });
          pass(client, server, when === 'asks');
          pass(server, client, when === 'is answered');
        });
        const connection = await openConnection({ url: relay.url, name: 'test', log, topology }, async (model) => {
          await model.createChannel();
        });
        await connection.close();
      }),
    );
  },
);

test('a paused consumer takes nothing, even if large messages were settled while it began', async () => {
  const own = stack.use(await freshVhost());
  const publishing = await connectTo(own.url);
  const channel = await publishing.createConfirmChannel();
  const queues = ['one', 'two', 'three', 'four'];
  for (const queue of queues) await channel.assertQueue(queue, { durable: true });
  const publish = async () => {
    channel.sendToQueue('one', Buffer.alloc(1_000));
    await channel.waitForConfirms();
  };
  const consumers = async () =>
    (await Promise.all(queues.map((queue) => channel.checkQueue(queue)))).map(({ consumerCount }) => consumerCount);
  await publish();
  let taken = 0;
  await using consumer = await openConsumer({
    url: own.url,
    name: 'test',
    log,
    topology,
    queue: queues,
    prefetch: 10,
    maxBytes: 500,
    onMessage(message) {
      taken += 1;
      // Before RabbitMQ has answered for the other queues.
      setImmediate(message.ack);
    },
  });
  await publish();
  await until('both have come', () => taken === 2);
  await until('it takes from each queue once', async () => (await consumers()).every((count) => count === 1));
  await consumer.pause();
  expect(await consumers()).toEqual([0, 0, 0, 0]);
  await publish();
  expect(taken).toBe(2);
  await publishing.close();
});

/** A relay that can go silent on the connections it has, as a frozen machine does. */
async function openFreezable(target: string): Promise<AsyncDisposable & { url: string; freeze(): void }> {
  const { hostname, port } = new URL(target);
  const pairs: [Socket, Socket][] = [];
  const server = createServer((client) => {
    const store = connect(Number(port), hostname);
    client.pipe(store).pipe(client);
    for (const socket of [client, store]) socket.on('error', () => {}); // both ends go as they like
    pairs.push([client, store]);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(target);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    freeze() {
      for (const [client, store] of pairs) client.unpipe().on('data', () => {}) && store.unpipe().on('data', () => {});
    },
    async [Symbol.asyncDispose]() {
      for (const sockets of pairs) for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
