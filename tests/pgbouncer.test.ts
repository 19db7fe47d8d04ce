/** The whole system with PgBouncer in transaction mode between it and PostgreSQL: eight sessions for all services. */
import { openApi } from '@gatepost/testkit/api';
import { openPgBouncer } from '@gatepost/testkit/pgbouncer';
import { openProducer } from '@gatepost/testkit/producer';
import { openReceiver } from '@gatepost/testkit/receiver';
import { freshDatabase } from '@gatepost/testkit/stores';
import { openSystem } from '@gatepost/testkit/system';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const database = stack.use(await freshDatabase());
const bouncer = stack.use(await openPgBouncer(database.url));
const system = stack.use(await openSystem({ databaseUrl: bouncer.url, env: { DATABASE_DIRECT_URL: database.url } }));
const api = await openApi(system);

test('through PgBouncer a token is issued, a hook is created, and hundreds of events are delivered, redelivered and logged', async () => {
  await using receiver = await openReceiver();
  await using producer = await openProducer(system.amqpUrl);
  await system.startDispatcher();
  const hook = await api.createHook({ url: receiver.url, secret: 'at least' });
  const ids = await Promise.all(Array.from({ length: 300 }, (_, i) => producer.publish({ type: 'push', body: { i } })));
  const guids = () => new Set(receiver.received.map((request) => request.headers['x-github-delivery']!));
  await until('every event at the receiver', () => ids.every((id) => guids().has(id)));
  const logged = await until('every event in the log', async () => {
    const all = await api.deliveries(hook);
    return ids.every((id) => all.some(({ guid, status }) => guid === id && status === 'OK')) && all;
  });

  const [first] = logged;
  const path = `/repos/acme/widgets/hooks/${hook}/deliveries/${first!.id}`;
  expect(await api.call('GET', path)).toMatchObject({ status: 200, body: { guid: first!.guid } });
  expect(await api.call('POST', `${path}/attempts`)).toMatchObject({ status: 202 });
  await until('the redelivery in the log', async () =>
    (await api.deliveries(hook)).some(({ guid, redelivery }) => guid === first!.guid && redelivery),
  );
  expect(await api.call('DELETE', `/repos/acme/widgets/hooks/${hook}`)).toMatchObject({ status: 204 });
  expect(bouncer.log()).not.toMatch(/ERROR|unsupported/);
});

test('through PgBouncer a changed limit applies to the next events', async () => {
  await using receiver = await openReceiver();
  await using producer = await openProducer(system.amqpUrl);
  const hook = await api.createHook({ url: receiver.url });
  // So few that they are more even where a busy machine takes its time to publish them.
  expect(await api.call('PUT', '/accounts/acme/throttle', { rate: 5, burst: 1 })).toMatchObject({ status: 200 });
  await Promise.all(Array.from({ length: 12 }, () => producer.publish({ type: 'push', body: {} })));
  const logged = await until('all of them in the log', async () => {
    const all = (await api.deliveries(hook)).filter(({ event }) => event === 'push'); // without the ping
    return all.length === 12 && all;
  });
  expect(logged.filter(({ throttled_at }) => throttled_at !== null).length).toBeGreaterThan(5);
});
