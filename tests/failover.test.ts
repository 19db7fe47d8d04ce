/** PostgreSQL with a standby, behind one address: the primary dies under load, and the standby takes over after a while. Once with PgBouncer. */
import { openApi } from '@gatepost/testkit/api';
import { openCuttable } from '@gatepost/testkit/cut';
import { openPgBouncer } from '@gatepost/testkit/pgbouncer';
import { openPostgresPair } from '@gatepost/testkit/postgres-server';
import { openProducer } from '@gatepost/testkit/producer';
import { openReceiver } from '@gatepost/testkit/receiver';
import { openSystem } from '@gatepost/testkit/system';
import { until } from '@gatepost/testkit/until';
import { expect, test } from '@jest/globals';

const isReady = async (opsUrl: string) => (await fetch(`${opsUrl}/readyz`)).status === 200;

/** Asks repeatedly until `stop`; returns how often each status came. */
function keepAsking(ask: () => Promise<number>): { stop(): Promise<Map<number, number>> } {
  const statuses = new Map<number, number>();
  let stopped = false;
  const asking = (async () => {
    while (!stopped) {
      const status = await ask();
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();
  return {
    async stop() {
      stopped = true;
      await asking;
      return statuses;
    },
  };
}

test.each([
  ['services that connect directly', false],
  ['services that connect through PgBouncer', true],
])(
  'when the primary dies under load and a standby takes over, nothing is lost and all goes on, with %s',
  async (_who, isPooled) => {
    await using stack = new AsyncDisposableStack();
    const pair = stack.use(await openPostgresPair());
    const address = stack.use(await openCuttable(pair.primary.url));
    const pooler = isPooled ? stack.use(await openPgBouncer(address.url, { sessions: 20 })) : undefined;
    const databaseUrl = pooler?.url ?? address.url;
    const env = { STORE_TIMEOUT_MS: '4000', ...(pooler && { DATABASE_DIRECT_URL: address.url }) }; // as in production
    const system = stack.use(await openSystem({ databaseUrl, env }));
    const api = await openApi(system);
    const services = [system.auth, system.webhookApi, system.dispatcher];
    await using receiver = await openReceiver();
    await using producer = await openProducer(system.amqpUrl);
    const hook = await api.createHook({ url: receiver.url });
    const guids = () => new Set(receiver.received.map((request) => request.headers['x-github-delivery']!));

    const published: string[] = [];
    const publishing = keepAsking(async () => {
      published.push(await producer.publish({ type: 'push', body: {} }));
      return 0;
    });
    const changed = await api.createHook({ url: `${receiver.url}/0` }, ['release']);
    let asked = 0;
    let confirmed = 0;
    const changing = keepAsking(async () => {
      const url = `${receiver.url}/${++asked}`;
      const { status } = await api.call('PATCH', `/repos/acme/widgets/hooks/${changed}/config`, { url });
      if (status === 200) confirmed = asked;
      return status;
    });
    const tokens = keepAsking(async () => {
      const form = { grant_type: 'client_credentials', client_id: 'demo-m2m', client_secret: 'demo-m2m-secret' };
      const body = new URLSearchParams({ ...form, audience: system.audience });
      return (await fetch(`${system.issuer}oauth/token`, { method: 'POST', body })).status;
    });
    await until('deliveries', () => guids().size > 20 && confirmed > 3);

    await pair.primary.kill();
    await address.cut();
    address.lead(pair.standby.url);
    await address.restore();
    // The standby is readable but not writable.
    await until('the dispatcher says so', async () => !(await isReady(system.dispatcher.opsUrl)));
    const before = published.length;
    await until('more events', () => published.length > before + 20);
    await pair.standby.promote();
    for (const { name, opsUrl } of services) await until(`${name} is ready again`, () => isReady(opsUrl));
    const afterwards = confirmed;
    await until('more of everything', () => published.length > before + 60 && confirmed > afterwards + 3);

    await publishing.stop();
    const ofChanges = await changing.stop();
    const ofTokens = await tokens.stop();
    await until('every event at the receiver', () => published.every((id) => guids().has(id)));
    await until('every event in the log', async () => {
      const logged = new Set((await api.deliveries(hook)).map(({ guid }) => guid));
      return published.every((id) => logged.has(id));
    });
    const { body } = await api.call('GET', `/repos/acme/widgets/hooks/${changed}`);
    // The last change may have been made although its answer was lost.
    const numberNow = Number((body as { config: { url: string } }).config.url.split('/').at(-1));
    expect(numberNow).toBeGreaterThanOrEqual(confirmed);
    // For each answer of 500 the service logs what failed.
    const failed = services.flatMap(({ output }) =>
      output()
        .split('\n')
        .filter((line) => / failed to answer/.test(line)),
    );
    const others = [...ofChanges.keys(), ...ofTokens.keys()].filter((status) => ![200, 503].includes(status));
    expect([others, failed]).toEqual([[], []]);
    for (const { output } of services) expect(output()).not.toContain('an uncaught error');
  },
);
