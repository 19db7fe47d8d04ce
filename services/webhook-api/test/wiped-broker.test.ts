/** What somebody asked for and was promised arrives, though RabbitMQ lost it before a dispatcher took it. */
import { deliveriesQueue } from '@gatepost/contracts/topology';
import { type Api, openApi } from '@gatepost/testkit/api';
import { openProducer } from '@gatepost/testkit/producer';
import { openReceiver, type Receiver } from '@gatepost/testkit/receiver';
import { management } from '@gatepost/testkit/stores';
import { openSystem, type System } from '@gatepost/testkit/system';
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';

const stack = new AsyncDisposableStack();
const hooks = '/repos/acme/widgets/hooks';
let system: System;
let api: Api;
let receiver: Receiver;

beforeAll(async () => {
  system = stack.use(await openSystem({ env: { RESCUE_AFTER_SECONDS: '30', STORE_TIMEOUT_MS: '30000' } }));
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
  await system.dispatcher.end('SIGTERM');

  expect((await api.call('POST', `${hooks}/${hook}/pings`)).status).toBe(204);
  expect((await api.call('POST', `${hooks}/${hook}/tests`)).status).toBe(204);
  expect((await api.call('POST', `${hooks}/${hook}/deliveries/${original.id}/attempts`)).status).toBe(202);
  const vhost = new URL(system.amqpUrl).pathname.slice(1);
  await management('DELETE', `/api/queues/${vhost}/${deliveriesQueue}`);
  await letMinutesPass();
  await system.startDispatcher();

  const logged = await until('all three in the log', async () => {
    const all = await api.deliveries(hook);
    return all.length >= 5 && all;
  });
  expect(logged.filter(({ redelivery }) => redelivery)).toMatchObject([{ guid, event: 'push', status: 'OK' }]);
  expect(logged.map(({ event }) => event).sort()).toEqual(['ping', 'ping', 'push', 'push', 'push']);
  expect(received('ping')).toHaveLength(2);
  expect(received('push')).toHaveLength(3);
});

/** What was published longer ago than `RESCUE_AFTER_SECONDS` is taken for lost. */
async function letMinutesPass(): Promise<void> {
  const client = new pg.Client({ connectionString: system.databaseUrl });
  await client.connect();
  await client.query("UPDATE webhooks.parked SET published_at = published_at - interval '10 minutes'");
  await client.end();
}
