/** Every process is replaced, one after the other, while clients, a producer and a receiver never stop. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { type Balancer, type Noticed, openBalancer } from '@gatepost/testkit/balancer';
import { openProducer } from '@gatepost/testkit/producer';
import { openReceiver } from '@gatepost/testkit/receiver';
import { freshDatabase, freshPrefix, freshVhost, redisUrl } from '@gatepost/testkit/stores';
import { freePorts, inherited, patientStoreMs, type Service, startService } from '@gatepost/testkit/system';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());

const root = fileURLToPath(new URL('..', import.meta.url));
/** Two take minutes on a busy machine: `ROLLING_ROUNDS=2`. */
const rounds = Number(process.env.ROLLING_ROUNDS ?? 1);
const stopDelayMs = 600;

test('while all services are restarted one after the other, every request is answered and no event is lost', async () => {
  const { url: databaseUrl } = stack.use(await freshDatabase('migrated'));
  const { url: amqpUrl } = stack.use(await freshVhost());
  const [gatePort, apiPort] = (await freePorts(2)) as [number, number];
  const issuer = `http://localhost:${gatePort}/`;
  const audience = 'http://localhost:4500/';
  const env: Record<string, string> = {
    ...inherited,
    GATEPOST_HOME: mkdtempSync(`${tmpdir()}/gatepost-`),
    DATABASE_URL: databaseUrl,
    AMQP_URL: amqpUrl,
    REDIS_URL: redisUrl(),
    REDIS_KEY_PREFIX: freshPrefix(),
    SECRETS_KEY: randomBytes(32).toString('base64'),
    ISSUER: issuer,
    WEBHOOK_API_AUDIENCE: audience,
    RATE_LIMIT_PER_HOUR: '0',
    STORE_TIMEOUT_MS: patientStoreMs,
    SEED_FILE: `${root}infra/demo/seed.yaml`,
    DELIVERY_ALLOWED_NETWORKS: '127.0.0.2/32',
    STOP_DELAY_MS: String(stopDelayMs),
  };

  /** Two instances of each service, with their own ports. */
  const places: { port: number; isBalanced: boolean; service: Service; start(): Promise<Service> }[] = [];
  const balancers: Balancer[] = [];
  for (const [name, variable, port] of [
    ['auth', 'AUTH', gatePort],
    ['webhook-api', 'WEBHOOK_API', apiPort],
    ['dispatcher', 'DISPATCHER', undefined],
  ] as const) {
    const backends = await Promise.all(
      [1, 2].map(async () => {
        const [own, ops] = (await freePorts(2)) as [number, number];
        const start = () =>
          startService(name, { ...env, [`${variable}_PORT`]: String(own), [`${variable}_OPS_PORT`]: String(ops) }, ops);
        const place = { port: own, isBalanced: port !== undefined, service: await start(), start };
        stack.defer(() => place.service[Symbol.asyncDispose]());
        places.push(place);
        return { port: own, opsUrl: place.service.opsUrl };
      }),
    );
    if (port !== undefined) balancers.push(stack.use(await openBalancer(backends, port)));
  }
  expect(balancers).toHaveLength(2);

  const askToken = () =>
    fetch(`${issuer}oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: 'demo-m2m',
        client_secret: 'demo-m2m-secret',
        audience,
      }),
    });
  const { access_token: token } = await until('a token', async () => {
    const response = await askToken();
    return response.ok && ((await response.json()) as { access_token: string });
  });
  const headers = { authorization: `Bearer ${token}`, 'user-agent': 'rolling', 'content-type': 'application/json' };
  const api = `http://localhost:${apiPort}`;
  const receiver = stack.use(await openReceiver());
  const hooks = `${api}/repos/acme/widgets/hooks`;
  const body = JSON.stringify({ config: { url: receiver.url, content_type: 'json' }, events: ['push'] });
  const made = await until('a hook', async () => {
    const response = await fetch(hooks, { method: 'POST', headers, body });
    return response.ok && ((await response.json()) as { id: number });
  });

  let isOver = false;
  const failures: string[] = [];
  const answered = { gate: 0, api: 0 };
  const never = async (of: 'gate' | 'api', ask: () => Promise<Response>) => {
    while (!isOver) {
      try {
        const response = await ask();
        const text = await response.text();
        if (response.ok) answered[of] += 1;
        else failures.push(`${of}: ${response.status} ${text.slice(0, 200)}`);
      } catch (error) {
        failures.push(`${of}: ${(error as Error).message} ${((error as Error).cause as Error)?.message}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  const producer = stack.use(await openProducer(amqpUrl));
  const published: string[] = [];
  const publish = async () => {
    while (!isOver) {
      published.push(await producer.publish());
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const clients = [
    never('gate', askToken),
    never('api', () => fetch(`${hooks}/${made.id}`, { headers })),
    never('api', () =>
      fetch(`${hooks}/${made.id}/config`, { method: 'PATCH', headers, body: '{"content_type":"json"}' }),
    ),
    publish(),
  ];
  const ends: (number | null)[] = [];
  /** When each was told to stop, according to its own log, and when it was gone. */
  const stops: { port: number; toldAt: number; goneAt: number }[] = [];
  for (let round = 0; round < rounds; round += 1)
    for (const place of places) {
      ends.push(await place.service.end('SIGTERM'));
      const goneAt = Date.now();
      stops.push({ port: place.port, toldAt: toldAt(place.service), goneAt });
      place.service = await place.start();
      if (process.env.SHOW_ROLLING)
        process.stderr.write(`${new Date().toISOString()} ${place.service.name} ${failures.length}\n`);
      await until('it is ready', async () => (await fetch(`${place.service.opsUrl}/readyz`)).ok);
      // Its neighbour is next, so the balancer must know of this one by then.
      const isBack = ({ port, at }: Noticed) => port === place.port && at > goneAt;
      if (place.isBalanced)
        await until('the balancer knows', () => balancers.some(({ saidReady }) => saidReady.some(isBack)));
    }
  isOver = true;
  await Promise.all(clients);

  expect(failures).toEqual([]);
  // On a busy machine the balancer may notice too late. An instance's obligations count by its own clock.
  for (const { port, toldAt, goneAt } of stops)
    for (const { saidReady, refused } of balancers) {
      const ofIt = (one: Noticed) => one.port === port && one.at > toldAt && one.at <= goneAt;
      expect(saidReady.filter(ofIt)).toEqual([]);
      expect(refused.filter((one) => ofIt(one) && one.at < toldAt + stopDelayMs)).toEqual([]);
    }
  expect(ends).toEqual(ends.map(() => 0));
  const received = () => new Set(receiver.received.map((request) => request.headers['x-github-delivery']));
  await until('all events', () => published.every((guid) => received().has(guid)));
  for (const count of [answered.gate, answered.api, published.length]) expect(count).toBeGreaterThan(100);
  if (process.env.SHOW_ROLLING)
    process.stderr.write(
      `${JSON.stringify({ answered, published: published.length, made: receiver.received.length })}\n`,
    );
}, 600_000);

/** When a service began to stop. */
function toldAt(service: Service): number {
  const line = service
    .output()
    .split('\n')
    .find((text) => text.includes('"stopping"'));
  return Date.parse((JSON.parse(line ?? '{}') as { time: string }).time);
}
