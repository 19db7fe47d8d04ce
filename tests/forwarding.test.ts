/** Forwarding, through two processes of the API and two dispatchers. */
import { openApi } from '@gatepost/testkit/api';
import { deprecatedInUse } from '@gatepost/testkit/deprecated';
import { type FrameAnswer, openListener } from '@gatepost/testkit/listener';
import { openProducer } from '@gatepost/testkit/producer';
import { openSystem } from '@gatepost/testkit/system';
import { until } from '@gatepost/testkit/until';
import { afterAll, describe, expect, test } from '@jest/globals';
import { verify } from '@octokit/webhooks-methods';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const system = stack.use(await openSystem({ env: { RETRY_SCHEDULE_SECONDS: '3600' } }));
const [second] = await Promise.all([system.startWebhookApi(), system.startDispatcher()]);
const api = await openApi(system);
const producer = stack.use(await openProducer(system.amqpUrl));
const token = await system.token();
const secret = `gehëim-✓-${'x'.repeat(20)}`;

/** Does what the extension does (cli/gh-webhook): creates the hook (create_webhook.go), opens its socket, activates it (forward.go). */
async function forward(
  type: string,
  options: { at?: string; answer?: Parameters<typeof openListener>[0]['answer']; protocol?: string } = {},
) {
  const { at, ...rest } = options;
  const config = { content_type: 'json', insecure_ssl: '0', secret };
  const made = await api.call('POST', '/repos/acme/widgets/hooks', {
    name: 'cli',
    active: false,
    events: [type],
    config,
  });
  const hook = made.body as { id: number; url: string; ws_url: string };
  const url =
    at === undefined ? hook.ws_url : hook.ws_url.replace(system.apiUrl.replace('http', 'ws'), at.replace('http', 'ws'));
  const listener = await openListener({ url, token, ...rest });
  const activated = await api.call('PATCH', new URL(hook.url).pathname, { active: true });
  expect(activated.status).toBe(200);
  const logged = (guid: string) =>
    until('the log', async () => (await api.deliveries(hook.id)).find((entry) => entry.guid === guid));
  return { ...listener, hook, logged };
}

const isGone = async ({ id }: { id: number }) =>
  (await api.call('GET', `/repos/acme/widgets/hooks/${id}`)).status === 404;

describe('forwarding', () => {
  test('an event, a ping and a redelivery reach a listener at either process, signed, and are logged', async () => {
    for (const at of [system.apiUrl, second.apiUrl]) {
      await using listener = await forward('push', { at });
      const body = Buffer.from(JSON.stringify({ ref: 'refs/heads/main', text: 'ä'.repeat(500_000) }));
      const guid = await producer.publish({ type: 'push', body });
      const logged = await listener.logged(guid);
      expect(logged).toMatchObject({ status: 'OK', status_code: 200, event: 'push', attempt: 1, redelivery: false });
      const [frame] = listener.frames;
      expect(frame!.body.equals(body)).toBe(true);
      expect(frame!.header).toMatchObject({
        'X-Github-Event': ['push'],
        'X-Github-Delivery': [guid],
        'X-Github-Hook-Id': [String(listener.hook.id)],
        'Content-Type': ['application/json'],
      });
      expect(await verify(secret, String(frame!.body), frame!.header['X-Hub-Signature-256']![0]!)).toBe(true);

      const hook = `/repos/acme/widgets/hooks/${listener.hook.id}`;
      expect((await api.call('POST', `${hook}/deliveries/${logged.id}/attempts`)).status).toBe(202);
      expect((await api.call('POST', `${hook}/pings`)).status).toBe(204);
      await until('all three', () => listener.frames.length === 3);
      const heads = listener.frames.map(({ header }) => [
        header['X-Github-Event']![0],
        header['X-Github-Delivery']![0],
      ]);
      expect(heads).toContainEqual(['push', guid]);
      expect(heads.map(([event]) => event).sort()).toEqual(['ping', 'push', 'push']);
      const { body: detail } = await api.call('GET', `${hook}/deliveries/${logged.id}`);
      expect(detail).toMatchObject({ response: { headers: { 'content-type': 'text/plain' }, payload: 'OK' } });
      listener.close();
      await until('the hook is gone', () => isGone(listener.hook));
    }
  });

  test('a listener that answers too late does not hold up others', async () => {
    const held = Promise.withResolvers<void>();
    await using slow = await forward('issues', {
      answer: () => held.promise.then((): FrameAnswer => ({ Status: 200 })),
    });
    await using quick = await forward('issues', { at: second.apiUrl });
    const guids = await Promise.all(Array.from({ length: 5 }, () => producer.publish({ type: 'issues' })));
    for (const guid of guids) expect(await quick.logged(guid)).toMatchObject({ status: 'OK' });
    await until('the first has timed out', async () =>
      (await api.deliveries(slow.hook.id)).some(({ status }) => status === 'Timed out'),
    );
    // The others wait for it, without an attempt.
    held.resolve();
    await until(
      'the rest',
      async () => (await api.deliveries(slow.hook.id)).filter(({ status }) => status === 'OK').length === 4,
    );
    expect((await api.deliveries(slow.hook.id)).length).toBe(5);
  });

  test('events, deliveries and listeners use no deprecated feature of RabbitMQ', async () => {
    await using listener = await forward('fork');
    expect(await listener.logged(await producer.publish({ type: 'fork' }))).toMatchObject({ status: 'OK' });
    expect(await deprecatedInUse(system.amqpUrl)).toEqual([]);
  });

  test('when a process of the API dies, its listeners find their hook at another; until then nobody listens', async () => {
    const dying = await system.startWebhookApi();
    await using listener = await forward('release', { at: dying.apiUrl });
    await using abandoned = await forward('release', { at: dying.apiUrl });
    await dying.end('SIGKILL');
    expect((await listener.closed).code).toBe(1006);
    const lost = await producer.publish({ type: 'release' });
    expect(await listener.logged(lost)).toMatchObject({ status: 'Failed to connect to network', status_code: 502 });
    await using again = await openListener({ url: listener.hook.ws_url, token });
    const found = await producer.publish({ type: 'release' });
    expect(await listener.logged(found)).toMatchObject({ status: 'OK' });
    expect(again.frames).toHaveLength(1);
    await until('the other hook is gone', () => isGone(abandoned.hook));
    expect(await isGone(listener.hook)).toBe(false);
  });
});
