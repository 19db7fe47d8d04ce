/**
 * An upgrade as an operator does it, and back: services of the last release beside, before and after those of this version, on the same stores. The release is built from the
 * repository's history (last-release.ts): that migrations remove nothing (packages/migrate/test/additive.test.ts) is no proof, since jobs, events, tokens and cookies pass
 * between versions without any schema, and only the old code shows how it handles them. Recorded statements would be cheaper, but do not show what it does with the answers;
 * images would need a registry. In a clone without history the test is skipped, and `npm test` says so.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { openLastRelease } from '@gatepost/testkit/last-release';
import { openProducer } from '@gatepost/testkit/producer';
import { migrationPrograms, runProgram } from '@gatepost/testkit/program';
import { openReceiver } from '@gatepost/testkit/receiver';
import { freshDatabase, freshPrefix, freshVhost, redisUrl } from '@gatepost/testkit/stores';
import { freePorts, inherited, patientStoreMs, type Service, startService } from '@gatepost/testkit/system';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());

const root = fileURLToPath(new URL('..', import.meta.url));
const [release, database, vhost, receiver, ports] = await Promise.all([
  openLastRelease(),
  freshDatabase(),
  freshVhost(),
  openReceiver(),
  freePorts(10),
]);
for (const store of [database, vhost, receiver]) stack.use(store);
stack.use(release);
const producer = stack.use(await openProducer(vhost.url));
const audience = 'http://localhost:4500/';
const env: Record<string, string> = {
  ...inherited,
  GATEPOST_HOME: mkdtempSync(`${tmpdir()}/gatepost-`),
  DATABASE_URL: database.url,
  AMQP_URL: vhost.url,
  REDIS_URL: redisUrl(),
  REDIS_KEY_PREFIX: freshPrefix(),
  SECRETS_KEY: randomBytes(32).toString('base64'),
  ISSUER: `http://localhost:${ports[0]}/`,
  WEBHOOK_API_AUDIENCE: audience,
  DELIVERY_ALLOWED_NETWORKS: '127.0.0.2/32',
  MIGRATE_AT_START: 'off',
  STORE_TIMEOUT_MS: patientStoreMs,
};

type Name = 'auth' | 'webhook-api' | 'dispatcher';
const names: Name[] = ['auth', 'webhook-api', 'dispatcher'];
/** The services of one version, with their own ports; the set of running ones changes. */
function versionAt(folder: string, [gate, gateOps, api, apiOps, dispatcherOps]: number[]) {
  const running = new Map<Name, Service>();
  stack.defer(async () => void (await Promise.all([...running.values()].map((one) => one[Symbol.asyncDispose]()))));
  const own = {
    ...env,
    SEED_FILE: `${folder}/infra/demo/seed.yaml`,
    AUTH_PORT: String(gate),
    AUTH_OPS_PORT: String(gateOps),
    WEBHOOK_API_PORT: String(api),
    WEBHOOK_API_OPS_PORT: String(apiOps),
    DISPATCHER_OPS_PORT: String(dispatcherOps),
    JWKS_URL: `http://localhost:${gate}/.well-known/jwks.json`,
  };
  const opsPorts = { auth: gateOps!, 'webhook-api': apiOps!, dispatcher: dispatcherOps! };
  return {
    gate: `http://localhost:${gate}/`,
    api: `http://localhost:${api}`,
    async start(...some: Name[]) {
      await Promise.all(
        some.map(async (name) => {
          const service = await startService(name, own, opsPorts[name], folder);
          running.set(name, service);
          await until(`${name} is ready`, async () => (await fetch(`${service.opsUrl}/readyz`)).ok);
        }),
      );
    },
    /** Resolves to their exit codes. */
    stop: (...some: Name[]) => Promise.all(some.map((name) => running.get(name)!.end('SIGTERM'))),
    migrate: () => Promise.all(migrationPrograms.map((path) => runProgram(path, own, folder))),
  };
}
type Version = ReturnType<typeof versionAt>;
const before = versionAt(release.folder, ports.slice(0, 5));
const now = versionAt(root, ports.slice(5));

/** Asks a gate for tokens. @throws with its answer if it issues none */
async function grant({ gate }: Version, fields: Record<string, string>) {
  const response = await fetch(`${gate}oauth/token`, { method: 'POST', body: new URLSearchParams(fields) });
  const answer = (await response.json()) as { access_token: string; refresh_token?: string };
  if (!response.ok) throw new Error(`the gate answered ${response.status}: ${JSON.stringify(answer)}`);
  return answer;
}
const machine = { grant_type: 'client_credentials', client_id: 'demo-m2m', client_secret: 'demo-m2m-secret', audience };
const trusted = { client_id: 'demo-trusted', client_secret: 'demo-trusted-secret' };
const alice = { username: 'alice@example.com', password: 'correct horse battery staple' };
const signIn = (version: Version) =>
  grant(version, { ...trusted, ...alice, grant_type: 'password', scope: 'openid offline_access' });
const refresh = (version: Version, refresh_token: string) =>
  grant(version, { ...trusted, grant_type: 'refresh_token', refresh_token });

/** Calls an API with a machine's token of that gate. */
async function call(version: Version, method: string, path: string, body?: object, by = version) {
  const { access_token: token } = await grant(by, machine);
  const response = await fetch(version.api + path, {
    method,
    headers: { authorization: `Bearer ${token}`, 'user-agent': 'upgrade', 'content-type': 'application/json' },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text === '' ? undefined : JSON.parse(text);
}
const hooks = '/repos/acme/widgets/hooks';
const createHook = async (version: Version) => {
  const config = { url: `${receiver.url}/${randomBytes(4).toString('hex')}`, content_type: 'json', secret: 'a secret' };
  const { id } = (await call(version, 'POST', hooks, { config, events: ['push'] })) as { id: number };
  return id;
};
type Logged = { id: number; guid: string; status: string; redelivery: boolean };
const logOf = (version: Version, hook: number) =>
  call(version, 'GET', `${hooks}/${hook}/deliveries?per_page=100`) as Promise<Logged[]>;
/** Waits until each hook's log shows the event as delivered, according to that API. */
const delivered = (version: Version, guid: string, ...some: number[]) =>
  until(`the event at ${some.length} hooks`, async () => {
    const logs = await Promise.all(some.map((hook) => logOf(version, hook)));
    return logs.every((log) => log.some((one) => one.guid === guid && one.status === 'OK'));
  });
const pause = (version: Version, method: 'PUT' | 'DELETE') => call(version, method, '/admin/organizations/acme/pause');

await before.migrate();
await before.start(...names);
const { refresh_token: oldest } = await signIn(before);
const first = await createHook(before);

test('services of this version refuse to start on the schema of the last release, and each says why in one line', async () => {
  for (const name of names)
    await expect(now.start(name)).rejects.toThrow(/ended with 78\n.*migrations? of this version/s);
  await delivered(before, await producer.publish(), first);
});

test('services of the last release keep working during and after the migrations of this version', async () => {
  let isOver = false;
  const published: string[] = [];
  const atWork = (async () => {
    while (!isOver) {
      published.push(await producer.publish());
      await call(before, 'PATCH', `${hooks}/${first}/config`, { content_type: 'json' });
    }
  })();
  const migrated = now.migrate().finally(() => {
    isOver = true;
  });
  await Promise.all([migrated, atWork]);
  expect(published.length).toBeGreaterThan(0);
  const received = () => new Set(receiver.received.map(({ headers }) => headers['x-github-delivery']));
  await until('all that was published meanwhile', () => published.every((guid) => received().has(guid)));

  const second = await createHook(before);
  await delivered(before, await producer.publish(), first, second);
  expect((await refresh(before, oldest!)).access_token).toBeTruthy();
});

test('services of both versions side by side accept each other’s tokens, hooks, events, jobs and waiting deliveries', async () => {
  const [of] = await logOf(before, first);
  await pause(before, 'PUT');
  const waits = [await producer.publish(), await producer.publish()];
  await until('it waits', async () => {
    const { waiting } = await call(before, 'GET', '/admin/status');
    return JSON.stringify(waiting).includes('paused');
  });
  expect(await before.stop('dispatcher')).toEqual([0]);
  const unrouted = await producer.publish();
  await now.start(...names);
  await pause(now, 'DELETE');
  for (const guid of [...waits, unrouted]) await delivered(now, guid, first);

  const newer = await createHook(now);
  expect(await call(before, 'GET', `${hooks}/${newer}`, undefined, now)).toMatchObject({ id: newer });
  expect(await call(now, 'GET', `${hooks}/${first}`, undefined, before)).toMatchObject({ id: first });
  // A job of the old API, for the new dispatcher.
  await call(before, 'POST', `${hooks}/${first}/deliveries/${of!.id}/attempts`);
  await until('it is made again', async () => (await logOf(now, first)).some((one) => one.redelivery));
  const { refresh_token: newest } = await signIn(now);
  expect((await refresh(now, oldest!)).access_token).toBeTruthy();
  expect((await refresh(before, newest!)).access_token).toBeTruthy();

  await before.start('dispatcher');
  const both = await Promise.all(Array.from({ length: 40 }, () => producer.publish()));
  for (const guid of both) await delivered(now, guid, first, newer);
});

test('after a rollback the services of the last release start on the new schema and go on with what this version has written', async () => {
  const newest = await createHook(now);
  const { refresh_token } = await signIn(now);
  await pause(now, 'PUT');
  const waits = await producer.publish();
  await until('it waits', async () => JSON.stringify(await call(now, 'GET', '/admin/status')).includes('paused'));
  expect(await now.stop(...names)).toEqual([0, 0, 0]);
  expect(await before.stop(...names)).toEqual([0, 0, 0]);
  await before.start(...names);
  await pause(before, 'DELETE');
  await delivered(before, waits, first, newest);
  await delivered(before, await producer.publish(), first, newest);
  expect((await refresh(before, refresh_token!)).access_token).toBeTruthy();
  await call(before, 'DELETE', `${hooks}/${newest}`);
});
