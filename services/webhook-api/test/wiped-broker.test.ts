/** What somebody asked for and was promised arrives, though RabbitMQ lost it before a dispatcher took it. */
import { deliveriesQueue } from '@gatepost/contracts/topology';
import { type Api, openApi } from '@gatepost/testkit/api';
import { openProducer } from '@gatepost/testkit/producer';
import { openReceiver, type Receiver } from '@gatepost/testkit/receiver';
import { management } from '@gatepost/testkit/stores';
import { openSystem, type Service, type System } from '@gatepost/testkit/system';
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';

const stack = new AsyncDisposableStack();
const hooks = '/repos/acme/widgets/hooks';
let system: System;
let dispatcher: Service;
let api: Api;
let receiver: Receiver;

beforeAll(async () => {
  system = stack.use(await openSystem({ env: { RESCUE_AFTER_SECONDS: '40', STORE_TIMEOUT_MS: '30000' } }));
  dispatcher = system.dispatcher;
  api = await openApi(system);
  receiver = stack.use(await openReceiver());
});
afterAll(() => stack.disposeAsync());

const received = (event: string) => receiver.received.filter(({ headers }) => headers['x-github-event'] === event);

test('a ping, a test and a redelivery that the broker lost are still delivered, once each', async () => {
  // There was nothing but the message: with it, the delivery was gone.
  await using producer = await openProducer(system.amqpUrl);
  const hook = await api.createHook({ url: receiver.url }, ['push']);
  const guid = await producer.publish({ type: 'push' });
  const original = await until('the push in the log', async () =>
    (await api.deliveries(hook)).find((delivery) => delivery.guid === guid),
  );
  await until('the ping of the creation in the log', async () => (await api.deliveries(hook)).length === 2);
  await dispatcher.end('SIGTERM');

  expect((await api.call('POST', `${hooks}/${hook}/pings`)).status).toBe(204);
  expect((await api.call('POST', `${hooks}/${hook}/tests`)).status).toBe(204);
  expect((await api.call('POST', `${hooks}/${hook}/deliveries/${original.id}/attempts`)).status).toBe(202);
  await management('DELETE', queue());
  await letMinutesPass();
  dispatcher = await system.startDispatcher();

  const logged = await until('all three in the log', async () => {
    const all = await api.deliveries(hook);
    return all.length >= 5 && all;
  });
  expect(logged.filter(({ redelivery }) => redelivery)).toMatchObject([{ guid, event: 'push', status: 'OK' }]);
  expect(logged.map(({ event }) => event).sort()).toEqual(['ping', 'ping', 'push', 'push', 'push']);
  expect(received('ping')).toHaveLength(2);
  expect(received('push')).toHaveLength(3);
});

// Whoever was told of a failure asks again, and a "deploy" is delivered twice.
test('a ping and a trigger that were answered with 503 are not delivered later', async () => {
  const hook = await api.createHook({ url: receiver.url }, ['deployment']);
  await until('the ping of the creation in the log', async () => (await api.deliveries(hook)).length === 1);
  await dispatcher.end('SIGTERM');
  receiver.received.length = 0;
  const stored = async () => (await sql('SELECT FROM webhooks.events WHERE $1 = ANY (hook_ids)', [hook])).rowCount;
  for (const [path, body] of [
    ['pings'],
    ['triggers', { event: 'deployment', payload: { to: 'production' } }],
  ] as const) {
    // An API without a connection would store nothing. It declares the queue anew as it connects.
    await until('the queue', () => management('GET', queue()).catch(() => false));
    await until('readiness', async () => (await fetch(`${system.webhookApi.opsUrl}/readyz`)).ok);
    await management('DELETE', queue());
    expect((await api.call('POST', `${hooks}/${hook}/${path}`, body)).status).toBe(503);
  }
  expect(await stored()).toBe(3);
  await letMinutesPass();
  await sql("UPDATE webhooks.events SET received_at = received_at - interval '10 minutes'");
  await sql("UPDATE webhooks.sweeps SET swept_until = now() - interval '1 hour'");
  dispatcher = await system.startDispatcher();
  await until('all events are looked through', async () => {
    return (await sql("SELECT FROM webhooks.sweeps WHERE swept_until > now() - interval '5 minutes'")).rowCount === 1;
  });
  await until('nothing waits', async () => (await sql('SELECT FROM webhooks.parked')).rowCount === 0);
  expect(await api.deliveries(hook)).toHaveLength(1);
  expect(receiver.received).toEqual([]);
});

const queue = () => `/api/queues/${new URL(system.amqpUrl).pathname.slice(1)}/${deliveriesQueue}`;

/** What was published longer ago than `RESCUE_AFTER_SECONDS` is taken for lost. */
const letMinutesPass = () => sql("UPDATE webhooks.parked SET published_at = published_at - interval '10 minutes'");

async function sql(text: string, values: unknown[] = []): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: system.databaseUrl });
  await client.connect();
  try {
    return await client.query(text, values);
  } finally {
    await client.end();
  }
}
