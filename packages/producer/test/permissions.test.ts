import { openConnection } from '@gatepost/amqp/connection';
import { type Incoming, openConsumer } from '@gatepost/amqp/consumer';
import { openPublisher } from '@gatepost/amqp/publisher';
import {
  deadEventsQueue,
  deliveriesQueue,
  eventsExchange,
  eventsQueue,
  producerPermissions,
  topology,
} from '@gatepost/contracts/topology';
import { openLog } from '@gatepost/runtime/log';
import { freshUser, freshVhost } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { expect, test } from '@jest/globals';
import { type Channel, connect } from 'amqplib';
import { openProducer } from '../src/producer.ts';

test('the services work with a user who is not an administrator of the vhost', async () => {
  await using vhost = await freshVhost();
  // As docs/reference/rabbitmq.md has it.
  const [configure, read] = ['^gatepost\\.', '^gatepost\\.'];
  await using user = await freshUser(vhost.url, { configure, write: '^(gatepost\\.|amq\\.default$)', read });
  const options = { url: user.url, name: 'test', log: openLog('test', 'silent'), topology };
  await using publisher = await openPublisher(options);
  for (const routingKey of [deliveriesQueue, deadEventsQueue])
    await publisher.publish({ exchange: '', routingKey, body: Buffer.from('{}'), messageId: 'm' });
  expect(await publisher.waiting(deliveriesQueue)).toBeGreaterThanOrEqual(0);
  const taken = new Set<string>();
  const onMessage = (message: Incoming) => {
    taken.add(message.messageId!);
    message.ack();
  };
  await using _consumer = await openConsumer({ ...options, queue: deliveriesQueue, prefetch: 1, onMessage });
  await until('the message', () => taken.has('m'));
});

// The queues hold other accounts' events and the jobs that are signed with their secrets.
test('a producer’s own user can publish events, and cannot read, write, change or bind any queue', async () => {
  await using vhost = await freshVhost();
  const log = openLog('test', 'silent');
  const declared = await openConnection({ url: vhost.url, name: 'test', log, topology }, async () => {});
  await using user = await freshUser(vhost.url, producerPermissions);
  await using producer = await openProducer({ url: user.url, source: 'urn:ci' });
  expect(await producer.publish({ type: 'push', subject: 'acme/widgets', data: {} })).toHaveProperty('guid');

  const connection = await connect(user.url);
  const refused = async (what: (channel: Channel) => Promise<unknown>) => {
    const channel = await connection.createConfirmChannel();
    channel.on('error', () => {});
    const closed = new Promise<{ code?: number }>((resolve) => channel.once('error', resolve));
    await Promise.race([what(channel).catch(() => {}), closed]);
    return (await closed).code;
  };
  const queues = [eventsQueue, deliveriesQueue, deadEventsQueue];
  for (const queue of queues) {
    // The default exchange leads to every queue by its name.
    expect(await refused(async (channel) => channel.publish('', queue, Buffer.from('{}')))).toBe(403);
    expect(await refused((channel) => channel.consume(queue, () => {}))).toBe(403);
    expect(await refused((channel) => channel.get(queue))).toBe(403);
    expect(await refused((channel) => channel.purgeQueue(queue))).toBe(403);
    expect(await refused((channel) => channel.deleteQueue(queue))).toBe(403);
    expect(await refused((channel) => channel.bindQueue(queue, eventsExchange, 'x'))).toBe(403);
    expect(await refused((channel) => channel.unbindQueue(queue, eventsExchange, '#'))).toBe(403);
  }
  expect(await refused((channel) => channel.assertQueue('mine'))).toBe(403);
  expect(await refused((channel) => channel.assertQueue(''))).toBe(403);
  expect(await refused((channel) => channel.assertExchange('mine', 'fanout'))).toBe(403);
  expect(await refused((channel) => channel.deleteExchange(eventsExchange))).toBe(403);
  expect(await refused((channel) => channel.bindExchange(eventsExchange, 'amq.topic', '#'))).toBe(403);
  await connection.close();
  await declared.close();
});
