/** Several brokers in one AMQP_URL, and TLS with certificates of one's own. */
import { writeFileSync } from 'node:fs';
import { type AddressInfo, connect as connectTcp } from 'node:net';
import { dirname, join } from 'node:path';
import { createServer } from 'node:tls';
import { openLog } from '@gatepost/runtime/log';
import { makeCertificates } from '@gatepost/testkit/certificates';
import { openCuttable } from '@gatepost/testkit/cut';
import { freshVhost } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import { browse } from '../src/browse.ts';
import { openConnection } from '../src/connection.ts';
import { openConsumer } from '../src/consumer.ts';
import { findShards } from '../src/find-shards.ts';
import { openPublisher } from '../src/publisher.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const vhost = stack.use(await freshVhost());
const log = openLog('test', 'silent');
const topology = { exchanges: [], queues: [], bindings: [] };
const open = (url: string) => openConnection({ url, name: 'test', log, topology }, async () => {});

test('connections spread over the brokers, and move to another when theirs is lost', async () => {
  await using one = await openCuttable(vhost.url);
  await using two = await openCuttable(vhost.url);
  const connections = await Promise.all(Array.from({ length: 20 }, () => open(`${one.url},${two.url}`)));
  const connected = () => connections.filter((connection) => connection.isConnected()).length;
  await one.cut();
  // 20 coins that all fall on one side: once in a million runs.
  await until('some to be lost', () => connected() < 20);
  expect(connected()).toBeGreaterThan(0);
  await until('all to be at the other broker', () => connected() === 20);
  await one.restore();
  await two.cut();
  await until('all to be lost, or moved already', () => connected() < 20);
  await until('all to be back at the first', () => connected() === 20);
  for (const connection of connections) await connection.close();
});

test('a single look at a queue also tries another broker when one is dead', async () => {
  const dead = new URL(vhost.url);
  dead.port = '1';
  const url = `${dead.href},${vhost.url}`;
  await (await open(url)).close();
  // One broker is chosen at random: ten coins that all fall on one side, once in a thousand runs, would show nothing.
  for (let tries = 0; tries < 10; tries += 1) {
    expect(await findShards(url, { events: 1, deliveries: 1 })).toMatchObject({ events: { used: 1 } });
    const options = { url, name: 'test', queue: 'some', most: 1, timeoutMs: 60_000, idleMs: 500 };
    await expect(
      browse(
        options,
        () => true,
        async () => {},
      ),
    ).rejects.toThrow('NOT_FOUND');
  }
});

/**
 * Two ways to one broker that fall silent without closing anything, as a node of RabbitMQ 4.3 does that is cut off from the others. No
 * heartbeats: such a node answers them.
 */
async function openSilent() {
  await using opening = new AsyncDisposableStack();
  const ways = [opening.use(await openCuttable(vhost.url)), opening.use(await openCuttable(vhost.url))] as const;
  const url = ways.map((way) => `${way.url}?heartbeat=0`).join();
  const open = opening.move();
  return {
    url,
    /** Silences the one that is used: what goes through it is seen by `works`, at once where it is the other one. */
    async silence(works: () => Promise<boolean>) {
      const [one, two] = ways;
      one.hold(true);
      if (!(await works())) return;
      two.hold(true);
      one.hold(false);
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}
const queue = { name: 'gatepost.silent', durable: true, arguments: { 'x-queue-type': 'quorum' } };
const withQueue = { exchanges: [], queues: [queue], bindings: [] };
const message = { exchange: '', routingKey: queue.name, body: Buffer.from('x'), messageId: '1' };
const confirms = (publisher: { publish(sent: typeof message): Promise<void> }) =>
  publisher.publish(message).then(
    () => true,
    () => false,
  );

test('a broker that accepts connections but confirms nothing is left for another', async () => {
  await using silent = await openSilent();
  await using publisher = await openPublisher({
    url: silent.url,
    name: 'test',
    log,
    topology: withQueue,
    confirmTimeoutMs: 1_000,
  });
  // On a busy machine a quorum queue confirms later than that now and then.
  await until('a confirm', () => confirms(publisher));
  await silent.silence(() => confirms(publisher));
  await until('a confirm from the other', () => confirms(publisher));
});

test('a broker that accepts connections but delivers nothing is left for another', async () => {
  await using silent = await openSilent();
  await using publisher = await openPublisher({ url: vhost.url, name: 'test', log, topology: withQueue });
  let taken = 0;
  await using _consumer = await openConsumer({
    url: silent.url,
    name: 'test',
    log,
    topology: withQueue,
    queue: queue.name,
    prefetch: 10,
    cutOff: { quietMs: 500, answerMs: 1_000 },
    onMessage(incoming) {
      taken += 1;
      incoming.ack();
    },
  });
  await until('what the test before has left', () => taken > 0);
  await silent.silence(async () => {
    const before = taken;
    await publisher.publish(message);
    return until('it', () => taken > before, 1_000).catch(() => false);
  });
  const before = taken;
  await until('some to come from the other', async () => {
    await publisher.publish(message); // the first ten are on their way by the silent one, for the broker
    return taken > before;
  });
});

test('amqps works with a private root certificate and a client certificate', async () => {
  using certificates = makeCertificates();
  const folder = dirname(certificates.rootFile);
  const server = certificates.issue({ name: '127.0.0.1' });
  const client = certificates.issue({ name: 'dispatcher' });
  writeFileSync(join(folder, 'client.pem'), client.cert);
  writeFileSync(join(folder, 'client.key'), client.key);
  const { hostname, port } = new URL(vhost.url);
  const names: unknown[] = [];
  const broker = createServer({ ...server, ca: certificates.root, requestCert: true }, (socket) => {
    names.push(socket.getPeerCertificate().subject.CN);
    const store = connectTcp(Number(port), hostname);
    socket.pipe(store).pipe(socket);
    for (const end of [socket, store]) end.on('error', () => {}); // both go as they like
  });
  await new Promise<void>((resolve) => broker.listen(0, '127.0.0.1', resolve));
  const url = new URL(vhost.url.replace('amqp:', 'amqps:'));
  url.host = `127.0.0.1:${(broker.address() as AddressInfo).port}`;
  const files = `cacertfile=${certificates.rootFile}&certfile=${join(folder, 'client.pem')}&keyfile=${join(folder, 'client.key')}`;

  const connection = await open(`${url.href}?${files}`);
  expect(names).toEqual(['dispatcher']);
  await expect(
    openConnection({ url: url.href, name: 'test', log, topology, initialRetries: 0 }, async () => {}),
  ).rejects.toThrow(/certificate/);
  expect(() => open(`${url.href}?cacertfile=/nowhere.pem`)).rejects.toThrow(/nowhere/);
  await connection.close();
  broker.close();
});
