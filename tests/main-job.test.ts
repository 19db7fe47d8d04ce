import { createRequire } from 'node:module';
import { openApi } from '@gatepost/testkit/api';
import { openProducer } from '@gatepost/testkit/producer';
import { openReceiver } from '@gatepost/testkit/receiver';
import { openSystem } from '@gatepost/testkit/system';
import { until } from '@gatepost/testkit/until';
import { afterAll, describe, expect, test } from '@jest/globals';
import { verify } from '@octokit/webhooks-methods';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const system = stack.use(await openSystem());
const api = await openApi(system);
const producer = stack.use(await openProducer(system.amqpUrl));
const secret = `gehëim-✓-${'x'.repeat(20)}`;
// Through require: Jest cannot import JSON by attribute from TypeScript.
const examples = createRequire(import.meta.url)('@octokit/webhooks-examples') as { name: string; examples: object[] }[];

describe('the main job', () => {
  test.each(['issues', 'push', 'release', 'pull_request'])(
    'a published `%s` event of GitHub reaches the hook that asked for it, byte for byte and signed',
    async (type) => {
      await using receiver = await openReceiver();
      const hook = await api.createHook({ url: `${receiver.url}/${type}`, secret }, [type]);
      const body = Buffer.from(JSON.stringify(examples.find((entry) => entry.name === type)!.examples[0]));
      const id = await producer.publish({ type, body });

      const delivery = await until('the delivery', () =>
        receiver.received.find((request) => request.headers['x-github-delivery'] === id),
      );
      expect(delivery.method).toBe('POST');
      expect(delivery.body.equals(body)).toBe(true);
      expect(delivery.headers).toMatchObject({
        'content-type': 'application/json',
        'x-github-event': type,
        'x-github-hook-id': String(hook),
        'x-github-hook-installation-target-type': 'repository',
        'webhook-id': id,
      });
      expect(await verify(secret, delivery.body.toString('utf8'), delivery.headers['x-hub-signature-256']!)).toBe(true);

      const logged = await until('the log', async () =>
        (await api.deliveries(hook)).find((entry) => entry.guid === id),
      );
      expect(logged).toMatchObject({
        status: 'OK',
        status_code: 200,
        event: type,
        redelivery: false,
        attempt: 1,
        throttled_at: null,
      });
      await api.call('DELETE', `/repos/acme/widgets/hooks/${hook}`);
    },
  );

  test('a hook gets only events of its own repository and types, and none when it is inactive or deleted', async () => {
    await using receiver = await openReceiver();
    const hook = await api.createHook({ url: `${receiver.url}/a` });
    const elsewhere = await api.createHook({ url: `${receiver.url}/b` }, ['push'], 'repos/acme/gadgets');
    const otherType = await api.createHook({ url: `${receiver.url}/c` }, ['issues']);
    const everything = await api.createHook({ url: `${receiver.url}/d` }, ['*']);
    const id = await producer.publish({ type: 'push' });
    const pathsOf = (guid: string) =>
      receiver.received
        .filter((request) => request.headers['x-github-delivery'] === guid)
        .map((request) => request.path)
        .sort();
    await until('both deliveries', () => pathsOf(id).length >= 2);
    expect(pathsOf(id)).toEqual(['/a', '/d']);

    expect((await api.call('DELETE', `/repos/acme/widgets/hooks/${hook}`)).status).toBe(204);
    // Takes effect in a moment; and a deleted hook no longer has a log.
    const second = await until('an event that the deleted hook gets no more', async () => {
      const next = await producer.publish({ type: 'push' });
      await until('the delivery to the hook that is left', () => pathsOf(next).includes('/d'));
      return pathsOf(next).includes('/a') ? undefined : next;
    });
    expect((await api.call('GET', `/repos/acme/widgets/hooks/${hook}/deliveries`)).status).toBe(404);
    expect(pathsOf(second)).toEqual(['/d']);
    await api.call('DELETE', `/repos/acme/gadgets/hooks/${elsewhere}`);
    for (const id of [otherType, everything]) await api.call('DELETE', `/repos/acme/widgets/hooks/${id}`);
  });

  test('the same event published again within a day is delivered once', async () => {
    await using receiver = await openReceiver();
    const hook = await api.createHook({ url: receiver.url });
    const event = { id: 'build-77', source: 'https://ci.example/builds', type: 'push' };
    await producer.publish(event);
    await producer.publish(event);
    const last = await producer.publish({ type: 'push' });
    const pushes = () =>
      receiver.received
        .filter(({ headers }) => headers['x-github-event'] === 'push')
        .map(({ headers }) => headers['x-github-delivery']);
    // Deliveries are made side by side: the one behind it may be there first.
    await until('it and the event behind it', () => pushes().includes(last) && pushes().some((guid) => guid !== last));
    expect(pushes().filter((guid) => guid !== last)).toHaveLength(1);
    await api.call('DELETE', `/repos/acme/widgets/hooks/${hook}`);
  });

  test('a push of more than three tags triggers no delivery', async () => {
    await using receiver = await openReceiver();
    const hook = await api.createHook({ url: receiver.url });
    const dropped = await producer.publish({ type: 'push', headers: { 'cloudEvents:tagspushed': 4 } });
    const three = await producer.publish({ type: 'push', headers: { 'cloudEvents:tagspushed': 3 } });
    const guids = () => receiver.received.map((request) => request.headers['x-github-delivery']);
    await until('the push of three tags', () => guids().includes(three));
    expect(guids()).not.toContain(dropped);
    await api.call('DELETE', `/repos/acme/widgets/hooks/${hook}`);
  });
});
