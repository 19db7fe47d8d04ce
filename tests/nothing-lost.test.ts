import { openApi } from '@gatepost/testkit/api';
import { openProducer } from '@gatepost/testkit/producer';
import { openReceiver, type Receiver } from '@gatepost/testkit/receiver';
import { openSystem } from '@gatepost/testkit/system';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import { connect } from 'amqplib';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const system = stack.use(await openSystem());
const api = await openApi(system);

const guidsAt = (receiver: Receiver) =>
  new Set(receiver.received.map((request) => request.headers['x-github-delivery']!));

test('a dispatcher killed with deliveries in flight loses none of them, and the log is complete', async () => {
  await using receiver = await openReceiver({ behave: { delayMs: 20 } });
  await using producer = await openProducer(system.amqpUrl);
  const hook = await api.createHook({ url: receiver.url });
  const ids: string[] = [];
  const publishing = (async () => {
    for (let i = 0; i < 600; i += 1) ids.push(await producer.publish({ type: 'push', body: { i } }));
  })();
  await until('deliveries in flight', () => receiver.received.length > 60);
  await system.dispatcher.end('SIGKILL');
  const second = await system.startDispatcher();
  await until('more deliveries', () => guidsAt(receiver).size > 200);
  await second.end('SIGKILL');
  await system.startDispatcher();
  await publishing;

  await until('every event at the receiver', () => ids.every((id) => guidsAt(receiver).has(id)));
  const logged = await until('every event in the log', async () => {
    const guids = (await api.deliveries(hook))
      .filter((delivery) => delivery.status === 'OK')
      .map((delivery) => delivery.guid);
    return ids.every((id) => guids.includes(id)) && guids;
  });
  expect(new Set(logged).size).toBeGreaterThanOrEqual(ids.length);
  await api.call('DELETE', `/repos/acme/widgets/hooks/${hook}`);
});

test('messages that are not events are dead-lettered with the reason, and block nothing', async () => {
  await using receiver = await openReceiver();
  await using producer = await openProducer(system.amqpUrl);
  const hook = await api.createHook({ url: receiver.url });
  await producer.publish({ body: '{"not json' });
  await producer.publish({ headers: { 'cloudEvents:subject': undefined } });
  await producer.publish({ body: Buffer.from([0x7b, 0xff, 0x7d]) });
  await producer.publish({ body: Buffer.alloc(26_000_000, 0x20) });
  const good = await producer.publish();
  await until('the event behind them', () => guidsAt(receiver).has(good));

  const connection = await connect(system.amqpUrl);
  const channel = await connection.createChannel();
  const dead = await until('four dead messages', async () => {
    const { messageCount } = await channel.checkQueue('gatepost.events.dead');
    return messageCount >= 4 && messageCount;
  });
  const reasons: [string, string][] = [];
  for (let i = 0; i < dead; i += 1) {
    const message = await channel.get('gatepost.events.dead', { noAck: true });
    if (message)
      reasons.push([
        String(message.properties.headers?.['x-reason']),
        String(message.properties.headers?.['x-detail']),
      ]);
  }
  await connection.close();
  expect(reasons.map(([reason]) => reason).sort()).toEqual(['missing_attribute', 'not_json', 'not_utf8', 'too_large']);
  expect(reasons.find(([reason]) => reason === 'missing_attribute')![1]).toContain('`subject`');
  await api.call('DELETE', `/repos/acme/widgets/hooks/${hook}`);
});
