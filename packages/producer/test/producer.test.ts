import { type Incoming, openConsumer } from '@gatepost/amqp/consumer';
import { parseEvent } from '@gatepost/contracts/event';
import { eventGuid } from '@gatepost/contracts/event-identity';
import { eventsExchange, eventsQueue, producerPermissions, topology } from '@gatepost/contracts/topology';
import { openLog } from '@gatepost/runtime/log';
import { openCuttable } from '@gatepost/testkit/cut';
import { openRelay } from '@gatepost/testkit/relay';
import { freshUser, freshVhost } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { afterAll, describe, expect, test } from '@jest/globals';
import { connect } from 'amqplib';
import { openProducer, type Producer, PublishError } from '../src/producer.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const vhost = stack.use(await freshVhost());
const log = openLog('test', 'silent');

// What a dispatcher would read; its consumer also declares the exchange and the queue.
const taken: Incoming[] = [];
stack.use(
  await openConsumer({
    url: vhost.url,
    name: 'test',
    log,
    topology,
    queue: eventsQueue,
    prefetch: 1_000,
    onMessage(message) {
      taken.push(message);
      message.ack();
    },
  }),
);
const idOf = (message: Incoming) => String(message.headers['cloudEvents:id']);
const takenWith = (id: string) => taken.filter((message) => idOf(message) === id);

const push = { type: 'push', subject: 'acme/widgets', data: { ref: 'refs/heads/main' } };
const codeOf = async (publishing: Promise<unknown>): Promise<string> => {
  const error = await publishing.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof PublishError)) throw new Error('published, or failed with another error', { cause: error });
  return error.code;
};

describe('a producer', () => {
  test('publishes an event that is parsed to what was given', async () => {
    await using producer = await openProducer({ url: vhost.url, source: 'https://ci.example/builds' });
    const body = '{ "action": "opened",  "number": 12345678901234567890 }';
    const published = await producer.publish({ type: 'issues', subject: 'acme/widgets', id: 'build-77', body });
    expect(published).toEqual({
      id: 'build-77',
      guid: eventGuid({ id: 'build-77', source: 'https://ci.example/builds' }),
    });
    const message = await until('the message', () => takenWith('build-77')[0]);
    expect(message.routingKey).toBe('issues');
    expect(parseEvent(message)).toMatchObject({
      kind: 'event',
      event: { type: 'issues', repository: 'widgets', action: 'opened', payload: Buffer.from(body) },
    });
  });

  test('names its user, and no other, in every message unless told not to', async () => {
    await using user = await freshUser(vhost.url, producerPermissions);
    const from = async (userId?: string | null) => {
      await using producer = await openProducer({
        url: user.url,
        source: 'urn:user',
        ...(userId === undefined ? {} : { userId }),
      });
      const { id } = await producer.publish(push);
      return (await until('the message', () => takenWith(id)[0])).userId;
    };
    expect(await from()).toBe(user.name);
    expect(await from(null)).toBeUndefined();
    expect(await codeOf(from('somebody-else'))).toBe('refused');
  });

  test('gives an event without an id a UUID, which is also its guid', async () => {
    await using producer = await openProducer({ url: vhost.url, source: 'urn:ci' });
    const { id, guid } = await producer.publish(push);
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    expect(guid).toBe(id);
  });

  test('publishes many at a time, in order', async () => {
    await using producer = await openProducer({ url: vhost.url, source: 'urn:ci' });
    const ids = Array.from({ length: 500 }, (_, index) => `batch-${index}`);
    await Promise.all(ids.map((id) => producer.publish({ ...push, id })));
    const received = () => taken.map(idOf).filter((id) => id.startsWith('batch-'));
    await until('all of them', () => received().length >= 500);
    expect(received()).toEqual(ids);
  });

  test('refuses an event that breaks a rule, names the rule, and goes on', async () => {
    await using producer = await openProducer({ url: vhost.url, source: 'urn:ci' });
    await expect(producer.publish({ ...push, subject: 'acme/widgets/main' })).rejects.toMatchObject({
      name: 'PublishError',
      code: 'invalid',
      reason: 'bad_attribute',
      message: expect.stringContaining('`subject`'),
    });
    await producer.publish(push);
  });

  test('refuses more events than may be in flight, and accepts events again when some are confirmed', async () => {
    await using producer = await openProducer({ url: vhost.url, source: 'urn:ci', maxInFlight: 2 });
    const two = [producer.publish(push), producer.publish(push)];
    expect(await codeOf(producer.publish(push))).toBe('busy');
    await Promise.all(two);
    await producer.publish(push);

    await using small = await openProducer({ url: vhost.url, source: 'urn:ci', maxInFlightBytes: 100 });
    const large = small.publish({ ...push, data: { text: 'x'.repeat(200) } }); // alone it may be larger
    expect(await codeOf(small.publish(push))).toBe('busy');
    await large;
  });

  test('says unroutable where no dispatcher has ever run, and recovers when one has', async () => {
    await using empty = await freshVhost();
    await using producer = await openProducer({ url: empty.url, source: 'urn:ci' });
    // Without the exchange the broker closes the channel, which takes the connection along; it comes back.
    expect(await codeOf(producer.publish(push))).toBe('unroutable');
    await until('the connection', () => producer.isConnected());

    const connection = await connect(empty.url);
    const channel = await connection.createChannel();
    await channel.assertExchange(eventsExchange, 'topic', { durable: true });
    expect(await codeOf(producer.publish(push))).toBe('unroutable'); // the exchange is there, and nothing bound to it
    await channel.assertQueue('q');
    await channel.bindQueue('q', eventsExchange, '#');
    await producer.publish(push);
    await connection.close();
  });

  test('loses no event and gives none a second id when the connection breaks', async () => {
    await using broker = await openCuttable(vhost.url);
    await using producer = await openProducer({ url: broker.url, source: 'urn:ci' });
    const ids = Array.from({ length: 2_000 }, (_, index) => `cut-${index}`);
    const publishing = publishAll(producer, ids, 100);
    for (const at of [200, 900]) {
      await until('some of them', () => taken.filter((message) => idOf(message).startsWith('cut-')).length > at);
      await broker.cut();
      await broker.restore();
    }
    await publishing;
    await until('all of them', () => ids.every((id) => takenWith(id).length > 0));
    expect(new Set(taken.map(idOf).filter((id) => id.startsWith('cut-')))).toEqual(new Set(ids));
  });

  test('gives up on an event while the broker stays away, and publishes again when it is back', async () => {
    await using broker = await openCuttable(vhost.url);
    await using producer = await openProducer({ url: broker.url, source: 'urn:ci', timeoutMs: 600 });
    await broker.cut();
    await until('the loss', () => !producer.isConnected());
    expect(await codeOf(producer.publish({ ...push, id: 'late' }))).toBe('not_connected');
    await broker.restore();
    await until('the connection', () => producer.isConnected());
    const published = () =>
      producer.publish({ ...push, id: 'late' }).then(
        () => true,
        () => false,
      );
    await until('it is taken', published);
    await until('the event', () => takenWith('late').length > 0);
  });

  test.each([{ maxInFlight: 1 }, { maxInFlightBytes: 100_000 }])(
    'writes no more than may be in flight while the broker reads nothing, and publishes again when it does: %j',
    async (limit) => {
      const kept: Buffer[] = [];
      let isReading = true;
      let readAgain = () => {};
      await using broker = await openRelay(vhost.url, (client, server) => {
        client.on('data', (chunk) => (isReading ? server.write(chunk) : kept.push(chunk)));
        server.pipe(client);
        readAgain = () => {
          isReading = true;
          for (const chunk of kept) server.write(chunk);
        };
      });
      await using producer = await openProducer({ url: broker.url, source: 'urn:ci', timeoutMs: 300, ...limit });
      isReading = false;
      const large = { ...push, data: { text: 'x'.repeat(60_000) } };
      for (let times = 0; times < 4; times += 1) expect(await codeOf(producer.publish(large))).toBe('timeout');
      const bytes = kept.reduce((sum, { length }) => sum + length, 0);
      expect([bytes > 60_000, bytes < 100_000]).toEqual([true, true]);
      readAgain();
      const published = () =>
        producer.publish({ ...large, id: `after ${Object.keys(limit)}` }).then(
          () => true,
          () => false,
        );
      await until('it is taken', published);
    },
  );

  test('cannot be opened without a broker, or by a user whom it refuses, and says why', async () => {
    const broker = await openCuttable(vhost.url);
    await broker.cut();
    const stranger = new URL(vhost.url);
    stranger.password = 'wrong';
    const reasons = [broker.url, stranger.href].map((url) =>
      openProducer({ url, source: 'urn:ci' }).catch((error: PublishError) => error),
    );
    for (const error of await Promise.all(reasons)) expect(error).toBeInstanceOf(PublishError);
    expect(await Promise.all(reasons)).toMatchObject([
      {
        code: 'not_connected',
        message: expect.stringMatching(/^no connection to RabbitMQ: .*(ECONNREFUSED|ECONNRESET)/),
      },
      { code: 'not_connected', message: expect.stringMatching(/^no connection to RabbitMQ: .*403/) },
    ]);
  });

  test('waits when closing for events in flight, and accepts no more', async () => {
    const producer = await openProducer({ url: vhost.url, source: 'urn:ci' });
    const last = Promise.all(
      Array.from({ length: 200 }, (_, index) => producer.publish({ ...push, id: `end-${index}` })),
    );
    const closing = Promise.all([producer.close(), producer[Symbol.asyncDispose]()]); // one of them twice
    expect(await codeOf(producer.publish(push))).toBe('closed');
    await Promise.all([last, closing]);
    await until('all of them', () => taken.filter((message) => idOf(message).startsWith('end-')).length === 200);
  });
});

/** Publishes with `width` in flight. */
async function publishAll(producer: Producer, ids: string[], width: number): Promise<void> {
  const left = ids.values();
  await Promise.all(
    Array.from({ length: width }, async () => {
      for (const id of left) await producer.publish({ ...push, id });
    }),
  );
}
