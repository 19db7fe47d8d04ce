/** A broker short of memory or disk: it says so to those who publish, and reads nothing more from them until it has room. */
import { openLog } from '@gatepost/runtime/log';
import { openRelay } from '@gatepost/testkit/relay';
import { freshVhost } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import { connect } from 'amqplib';
import { openPublisher } from '../src/publisher.ts';
import { openRequester, openResponder } from '../src/requests.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const vhost = stack.use(await freshVhost());
const log = openLog('test', 'silent');
const queue = { name: 'gatepost.alarm', durable: true, arguments: { 'x-queue-type': 'quorum' } };
const topology = { exchanges: [], queues: [queue], bindings: [] };

/** A way to the broker that behaves as the broker does in an alarm, which would stop all other tests. */
async function openAlarming() {
  const unread: Buffer[] = [];
  let isReading = true;
  let say: (method: number, text: string) => void;
  let read: (chunk: Buffer) => void;
  const relay = await openRelay(vhost.url, (client, server) => {
    server.pipe(client);
    read = (chunk) => server.write(chunk);
    client.on('data', (chunk) => (isReading ? read(chunk) : unread.push(chunk)));
    say = (method, text) => {
      const body = Buffer.from([0, 10, 0, method, ...(text ? [text.length] : []), ...Buffer.from(text)]);
      client.write(Buffer.from([1, 0, 0, 0, 0, 0, body.length, ...body, 0xce]));
    };
  });
  return {
    url: relay.url,
    unreadBytes: () => unread.reduce((sum, { length }) => sum + length, 0),
    begin() {
      isReading = false;
      say(60, 'low on memory'); // connection.blocked
    },
    end() {
      isReading = true;
      for (const chunk of unread.splice(0)) read(chunk);
      say(61, ''); // connection.unblocked
    },
    [Symbol.asyncDispose]: () => relay[Symbol.asyncDispose](),
  };
}

const codeOf = (publishing: Promise<unknown>) =>
  publishing.then(
    () => 'confirmed',
    ({ code }) => code as string,
  );
const message = (messageId: string) => ({ exchange: '', routingKey: queue.name, body: Buffer.alloc(1_000), messageId });

// Each try left another copy in memory, and all of them were published when the alarm was over.
test('during an alarm of the broker nothing is written, and what was given up on is never published', async () => {
  await using broker = await openAlarming();
  await using publisher = await openPublisher({ url: broker.url, name: 'test', log, topology, confirmTimeoutMs: 500 });
  await until('a confirm', async () => (await codeOf(publisher.publish(message('before')))) === 'confirmed');
  broker.begin();
  await until('it knows of the alarm', () => !publisher.isConnected());
  for (let times = 0; times < 3; times += 1)
    expect(await codeOf(publisher.publish(message(`during ${times}`)))).toBe('timeout');
  expect(await codeOf(publisher.waiting(queue.name))).toBe('timeout');
  expect(broker.unreadBytes()).toBeLessThan(1_000);
  broker.end();
  await until('it knows of the end', () => publisher.isConnected());
  await until('a confirm', async () => (await codeOf(publisher.publish(message('after')))) === 'confirmed');
  const direct = await connect(vhost.url);
  const channel = await direct.createChannel();
  const ids = new Set<string>();
  for (let got = await channel.get(queue.name); got; got = await channel.get(queue.name))
    ids.add(got.properties.messageId);
  await direct.close();
  expect([...ids]).toEqual(['before', 'after']);
});

// Callers published it again, and the broker, which had it all the time, delivered both.
test('what was written when an alarm begins waits for its end, unless its sender is about to stop', async () => {
  const stopping = new AbortController();
  await using broker = await openAlarming();
  await using publisher = await openPublisher({
    url: broker.url,
    name: 'test',
    log,
    topology,
    confirmTimeoutMs: 500,
    outlastsAlarmsUntil: stopping.signal,
  });
  const publishInAlarm = async (messageId: string) => {
    await until(
      'a confirm',
      async () => (await codeOf(publisher.publish(message(`before ${messageId}`)))) === 'confirmed',
    );
    broker.begin();
    const answered = { code: 'none' };
    const publishing = codeOf(publisher.publish(message(messageId))).then((code) => {
      answered.code = code;
    });
    await until('it knows of the alarm', () => !publisher.isConnected());
    expect(broker.unreadBytes()).toBeGreaterThan(1_000);
    expect(await codeOf(publisher.publish(message(`after ${messageId}`)))).toBe('timeout');
    expect(answered.code).toBe('none');
    return { publishing, answered };
  };
  const first = await publishInAlarm('first');
  broker.end();
  await first.publishing;
  expect(first.answered.code).toBe('confirmed');
  const second = await publishInAlarm('second');
  stopping.abort();
  await second.publishing;
  expect(second.answered.code).toBe('timeout');
});

test('what is published during an alarm that ends soon enough is confirmed', async () => {
  await using broker = await openAlarming();
  await using publisher = await openPublisher({ url: broker.url, name: 'test', log, topology });
  broker.begin();
  await until('it knows of the alarm', () => !publisher.isConnected());
  const publishing = Promise.all([codeOf(publisher.publish(message('1'))), codeOf(publisher.publish(message('2')))]);
  broker.end();
  expect(await publishing).toEqual(['confirmed', 'confirmed']);
});

test('more than may be unconfirmed waits its turn, and all of it is confirmed', async () => {
  const unconfirmedMax = { messages: 3, bytes: 2_500 };
  await using publisher = await openPublisher({ url: vhost.url, name: 'test', log, topology, unconfirmedMax });
  const codes = Array.from({ length: 50 }, (_, index) => codeOf(publisher.publish(message(String(index)))));
  expect(new Set(await Promise.all(codes))).toEqual(new Set(['confirmed']));
});

// It counted as a listener that does not answer.
test('a request that an alarm of the broker stops is lost, not late, and later ones are not written', async () => {
  await using broker = await openAlarming();
  await using requester = await openRequester({ url: broker.url, name: 'test', log, topology });
  const ask = (timeoutMs: number) =>
    requester.request({ exchange: '', routingKey: queue.name, type: 'test', body: Buffer.alloc(1_000), timeoutMs });
  expect(await ask(50)).toEqual({ kind: 'late' });
  const asked = ask(5_000);
  broker.begin();
  expect(await asked).toEqual({ kind: 'lost' });
  for (let times = 0; times < 5; times += 1) expect(await ask(5_000)).toEqual({ kind: 'lost' });
  expect(broker.unreadBytes()).toBeLessThan(2_000);
  broker.end();
  await until('requests are written again', async () => (await ask(50)).kind === 'late');
});

// What waited for the answer waited for the end of the alarm: a process could not stop.
test('during an alarm, who takes requests is not kept waiting for the broker', async () => {
  const exchange = { name: 'gatepost.asked', type: 'direct', durable: true } as const;
  await using broker = await openAlarming();
  await using responder = await openResponder({
    url: broker.url,
    name: 'test',
    log,
    topology: { exchanges: [exchange], queues: [], bindings: [] },
    exchange: exchange.name,
    answerTimeoutMs: 300,
    onRequest: (request) => request.answer(Buffer.from('here')),
  });
  await responder.bind('before');
  broker.begin();
  expect(await codeOf(responder.bind('during'))).toBe('timeout');
  await responder.unbind('during');
  broker.end();
  await responder.unbind('before');
  await responder.bind('after');
  await using requester = await openRequester({ url: vhost.url, name: 'test', log, topology });
  const ask = (routingKey: string) =>
    requester.request({ exchange: exchange.name, routingKey, type: 'test', body: Buffer.alloc(1), timeoutMs: 20_000 });
  expect(await ask('after')).toMatchObject({ kind: 'answer' });
  for (const key of ['before', 'during']) expect(await ask(key)).toEqual({ kind: 'unroutable' });
});
