import {
  deadEventsQueue,
  deadLettersPolicy,
  deliveryLimit,
  eventsPolicy,
  eventsQueue,
  topology,
} from '@gatepost/contracts/topology';
import { openLog } from '@gatepost/runtime/log';
import { freshVhost, management } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import { connect, type GetMessage } from 'amqplib';
import { openConnection } from '../src/connection.ts';
import { openPublisher } from '../src/publisher.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const log = openLog('test', 'silent');
type Queue = { type: string; durable: boolean; arguments: Record<string, unknown> };

/** Connects, which declares all there is, and closes again. */
async function connectTo(url: string, said = log): Promise<void> {
  const connection = await openConnection({ url, name: 'test', log: said, topology }, async () => {});
  await connection.close();
}

/** What a version before declared: RabbitMQ 4 drops what comes back for the twentieth time from a queue that sets no limit. */
async function declareAsBefore(url: string): Promise<void> {
  const connection = await connect(url);
  const channel = await connection.createChannel();
  await channel.assertQueue(deadEventsQueue, { durable: true, arguments: { 'x-queue-type': 'quorum' } });
  await connection.close();
}

test.each(topology.queues)(
  '$name has its own delivery limit, so that a broker’s default drops nothing',
  async ({ name }) => {
    await using vhost = await freshVhost();
    await connectTo(vhost.url);
    const path = `/api/queues${new URL(vhost.url).pathname}/${name}`;
    const queue = (await management('GET', path)) as Queue;
    expect(queue).toMatchObject({
      durable: true,
      arguments: { 'x-queue-type': 'quorum', 'x-delivery-limit': deliveryLimit },
    });
    expect(deliveryLimit).toBeGreaterThanOrEqual(1_000_000);
  },
);

test('a queue that an earlier version declared with other arguments is kept and used, with one warning', async () => {
  const vhost = stack.use(await freshVhost());
  await declareAsBefore(vhost.url);
  const warnings: unknown[][] = [];
  const watched = Object.assign(Object.create(log), { warn: (...args: unknown[]) => warnings.push(args) });
  for (const name of ['one', 'two']) {
    await using publisher = await openPublisher({ url: vhost.url, name, log: watched, topology });
    const message = { exchange: '', routingKey: deadEventsQueue, body: Buffer.from('{}'), messageId: name };
    await publisher.publish(message);
  }
  expect(warnings).toEqual([
    [expect.objectContaining({ 'amqp.queue': deadEventsQueue }), expect.stringContaining('docs/reference/rabbitmq.md')],
  ]);

  // A broker that lost the queue meanwhile gets the new one.
  await management('DELETE', `/api/queues${new URL(vhost.url).pathname}/${deadEventsQueue}`);
  await connectTo(vhost.url, watched);
  const queue = (await management('GET', `/api/queues${new URL(vhost.url).pathname}/${deadEventsQueue}`)) as Queue;
  expect(queue.arguments).toHaveProperty('x-delivery-limit', deliveryLimit);
  expect(warnings).toHaveLength(1);
});

test('the policy gives an old queue the delivery limit that its arguments lack', async () => {
  const vhost = stack.use(await freshVhost());
  const [, vhostName] = new URL(vhost.url).pathname.split('/');
  await declareAsBefore(vhost.url);
  const { name, pattern, definition } = deadLettersPolicy;
  await management('PUT', `/api/policies/${vhostName}/${name}`, { pattern, definition, 'apply-to': 'queues' });
  const queue = await until('the policy holds', async () => {
    const found = (await management('GET', `/api/queues/${vhostName}/${deadEventsQueue}`)) as Record<string, unknown>;
    return found.policy === name && found;
  });
  expect(queue.effective_policy_definition).toEqual({ 'delivery-limit': deliveryLimit });
});

test('with its policy an event that comes back too often becomes a dead letter and is not dropped', async () => {
  const vhost = stack.use(await freshVhost());
  const [, vhostName] = new URL(vhost.url).pathname.split('/');
  const { name, pattern, definition } = eventsPolicy;
  // Of argument and policy RabbitMQ takes the lower.
  const low = { pattern, definition: { ...definition, 'delivery-limit': 1 }, 'apply-to': 'queues' };
  await management('PUT', `/api/policies/${vhostName}/${name}`, low);
  await connectTo(vhost.url);
  const connection = await connect(vhost.url);
  const channel = await connection.createConfirmChannel();
  channel.sendToQueue(eventsQueue, Buffer.from('{}'), { persistent: true });
  await channel.waitForConfirms();
  // Whoever had it is gone: from RabbitMQ 4.3 on only that counts, what is given back does not.
  for (let times = 0; times < 2; times += 1) {
    const taker = await connection.createChannel();
    await until('the event', () => taker.get(eventsQueue));
    await taker.close();
  }
  const dead = await until('the dead letter', () => channel.get(deadEventsQueue));
  expect((dead as GetMessage).properties.headers).toMatchObject({ 'x-first-death-reason': 'delivery_limit' });
  await connection.close();
});
