/** Real private instances of each store whose server is installed here, in a temporary folder. */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { deadLettersPolicy, eventsPolicy } from '@gatepost/contracts/topology';
import { rowsOf } from '@gatepost/testkit/postgres-server';
import { afterAll, expect, test } from '@jest/globals';
import { type Channel, connect } from 'amqplib';
import { Redis } from 'ioredis';
import { say } from '../commands/say.ts';
import { findProgram } from '../processes/child.ts';
import { dataFolder, postgres } from '../stores/postgres.ts';
import type { PrivateOptions, StoreKind } from '../stores/private.ts';
import { rabbitmq } from '../stores/rabbitmq.ts';
import { storeKinds } from '../stores/stores.ts';

const home = mkdtempSync(join(tmpdir(), 'gatepost-stores-'));
const { signal } = new AbortController();
const programOf = (kind: StoreKind) => findProgram(kind.programs())!;
const installed = storeKinds.filter(programOf);

afterAll(async () => {
  rmSync(dirname(dataFolder(home)), { recursive: true, force: true });
  rmSync(home, { recursive: true, force: true });
});

function options(): PrivateOptions {
  return { env: process.env, home, signal, stack: new AsyncDisposableStack(), say };
}

/** What each store must keep across starts, and how to check it. */
const keeping: Record<StoreKind['name'], { put(url: string): Promise<unknown>; has(url: string): Promise<boolean> }> = {
  PostgreSQL: {
    put: (url) => rowsOf(url, 'CREATE SCHEMA kept'),
    has: async (url) => (await rowsOf(url, "SELECT 1 FROM pg_namespace WHERE nspname = 'kept'")).length === 1,
  },
  RabbitMQ: {
    put: (url) => onChannel(url, (channel) => channel.assertQueue('kept', { durable: true })),
    has: (url) =>
      onChannel(url, (channel) => channel.checkQueue('kept')).then(
        () => true,
        (error: { code?: number }) => {
          if (error.code === 404) return false;
          throw error;
        },
      ),
  },
  // Redis may always lose everything.
  Redis: { put: async () => {}, has: async () => true },
};

// One set of servers for all tests that follow. A running producer keeps its broker's URL.
const shared = new AsyncDisposableStack();
const servers = new Map<StoreKind, Awaited<ReturnType<StoreKind['prepare']>>>();
afterAll(() => shared.disposeAsync());

// tests/chaos.test.ts shows that each of them recovers when killed outright.
test.each(installed.map((kind) => [kind.name, kind] as const))(
  'runs %s for us alone, and keeps its data and its port',
  async (_, kind) => {
    const program = programOf(kind);
    const first = options();
    const one = await kind.prepare(program, first);
    const child = await one.launch();
    expect(await kind.letsIn(one.url)).toBe(true);
    expect(new URL(one.url).hostname).toBe('127.0.0.1');
    expect(await kind.letsIn(one.url.replace(/:[0-9a-f]{48}@/, ':wrong@'))).toBe(false);
    await keeping[kind.name].put(one.url);

    // The store of a killed run is told to end, which takes a while; the next run waits for it, and the data is intact.
    process.kill(child.pid, kind.name === 'PostgreSQL' ? 'SIGINT' : 'SIGTERM');
    const second = { ...options(), stack: shared, forTests: kind === rabbitmq };
    const two = await kind.prepare(program, second);
    // For RabbitMQ it waits for the name service, which ends with its node; PostgreSQL and Redis lock their data themselves.
    if (kind !== rabbitmq) await child.exited;
    expect(two.url).toBe(one.url);
    await two.launch();
    expect(child.hasExited()).toBe(true);
    servers.set(kind, two);
    expect(await keeping[kind.name].has(two.url)).toBe(true);
    await first.stack.disposeAsync();
  },
);

test('makes PostgreSQL anew where a deleted folder of the same name has left its data, whose password nobody knows', async () => {
  if (!installed.includes(postgres)) return expect(installed).not.toContain(postgres);
  const again = join(home, 'again');
  for (const _ of ['first', 'after that']) {
    await using stack = new AsyncDisposableStack();
    const one = await postgres.prepare(programOf(postgres), { ...options(), stack, home: again });
    await one.launch();
    expect(await postgres.letsIn(one.url)).toBe(true);
    rmSync(again, { recursive: true });
  }
  rmSync(dirname(dataFolder(again)), { recursive: true, force: true });
});

test('makes PostgreSQL anew where a start ended while it was being made', async () => {
  if (!installed.includes(postgres)) return expect(installed).not.toContain(postgres);
  const bin = join(home, 'bin');
  mkdirSync(bin);
  chmodSync(home, 0o711); // for PostgreSQL's account
  const begun = `for arg; do case "$arg" in --pgdata=*) echo 17 > "\${arg#*=}/PG_VERSION" ;; esac; done; kill -KILL $$`;
  writeFileSync(join(bin, 'initdb'), `#!/bin/sh\n${begun}\n`);
  for (const path of [bin, join(bin, 'initdb')]) chmodSync(path, 0o755);
  await using stack = new AsyncDisposableStack();
  const own = { ...options(), stack, home: join(home, 'half-made') };
  await expect(postgres.prepare(join(bin, 'postgres'), own)).rejects.toThrow('could not be initialized');
  const one = await postgres.prepare(programOf(postgres), own);
  await one.launch();
  expect(await postgres.letsIn(one.url)).toBe(true);
  await stack.disposeAsync();
  rmSync(dirname(dataFolder(own.home)), { recursive: true, force: true });
});

test('makes a RabbitMQ user for producers, who can publish to the exchange and reach no queue', async () => {
  const server = servers.get(rabbitmq);
  if (!server) return expect(installed).not.toContain(rabbitmq);
  const { url, producerUrl, managementUrl } = server;
  await onChannel(url, async (channel) => {
    await channel.assertExchange('gatepost.events', 'topic');
    await channel.assertQueue('gatepost.deliveries');
  });
  expect(await mayPublish(producerUrl!, 'gatepost.events', 'push')).toBe(true);
  expect(await mayPublish(producerUrl!, '', 'gatepost.deliveries')).toBe(false);
  expect(await mayPublish(url, '', 'gatepost.deliveries')).toBe(true);
  expect(await getFrom(managementUrl!, '/api/policies/gatepost')).toEqual(
    expect.arrayContaining([deadLettersPolicy, eventsPolicy].map((policy) => expect.objectContaining(policy))),
  );
});

test('keeps passwords where only the owner can read them', () => {
  for (const { service } of installed) {
    expect(statSync(join(home, service, 'instance.json')).mode & 0o777).toBe(0o600);
    if (service === 'rabbitmq') expect(statSync(join(home, service, 'definitions.json')).mode & 0o777).toBe(0o600);
  }
});

test('does not take a server that wants an unknown password, or a port without a server', async () => {
  const ours = [...servers]
    .filter(([kind]) => kind !== rabbitmq) // its probe only tries guest, which ours does not have
    .map(([kind, { url }]) => [kind, Number(new URL(url).port)] as const);
  for (const [kind, port] of [...ours, ...storeKinds.map((kind) => [kind, 1] as const)])
    for (const url of kind.usual({}, port)) expect(await kind.letsIn(url, true)).toBe(false);
});

test('uses its own database on a server that lets us in, and drops only what is ours', async () => {
  for (const [kind, { url }] of servers) {
    const { put, left } = sharing[kind.name];
    await put(url);
    await kind.drop(url, {});
    await kind.drop(url, {}); // nothing is left there
    expect([kind.name, await left(url)]).toEqual([kind.name, ['others']]);
  }
});

test('signs in with the login that libpq takes from the environment', async () => {
  const server = servers.get(postgres);
  if (!server) return expect(installed).not.toContain(postgres);
  const { username, password, port } = new URL(server.url);
  await rowsOf(server.url.replace(/gatepost$/, 'postgres'), 'DROP DATABASE gatepost');
  const env = { PGUSER: username, PGPASSWORD: password };
  expect(postgres.usual(env, Number(port))).toEqual([server.url]);
  expect(await postgres.letsIn(server.url)).toBe(false);
  expect(await postgres.letsIn(server.url, true)).toBe(true);
  expect(await postgres.letsIn(server.url)).toBe(true); // the database was made
});

/** Our data and somebody else's in one server, and what is left of each. */
const sharing: Record<StoreKind['name'], { put(url: string): Promise<unknown>; left(url: string): Promise<string[]> }> =
  {
    PostgreSQL: {
      put: (url) => rowsOf(url, 'CREATE SCHEMA auth CREATE TABLE t (); CREATE SCHEMA webhooks; CREATE SCHEMA others'),
      left: async (url) => {
        const ours = "SELECT nspname FROM pg_namespace WHERE nspname IN ('auth', 'webhooks', 'others')";
        return (await rowsOf(url, ours)).map(({ nspname }) => String(nspname));
      },
    },
    Redis: {
      put: (url) => onRedis(url, (client) => client.mset('gatepost:a', '1', 'gatepost:b', '2', 'others', '3')),
      left: (url) => onRedis(url, (client) => client.keys('*')),
    },
    RabbitMQ: {
      put: (url) =>
        onChannel(url, async (channel) => {
          await channel.assertExchange('gatepost.events', 'topic');
          for (const queue of ['gatepost.events', 'gatepost.deliveries', 'others']) await channel.assertQueue(queue);
        }),
      left: async (url) => {
        const names = ['gatepost.events', 'gatepost.deliveries', 'others'];
        const there = await Promise.all(
          names.map((name) =>
            onChannel(url, (channel) => channel.checkQueue(name)).then(
              () => true,
              () => false,
            ),
          ),
        );
        return names.filter((_, index) => there[index]);
      },
    },
  };

async function onRedis<T>(url: string, work: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(url);
  try {
    return await work(client);
  } finally {
    client.disconnect();
  }
}

/** Whether RabbitMQ confirms this user's message there, or closes the channel over it. */
async function mayPublish(url: string, exchange: string, routingKey: string): Promise<boolean> {
  const connection = await connect(url);
  try {
    const channel = await connection.createConfirmChannel();
    channel.on('error', () => {}); // the missing confirm tells
    channel.publish(exchange, routingKey, Buffer.from('{}'), { mandatory: true });
    return await channel.waitForConfirms().then(
      () => true,
      () => false,
    );
  } finally {
    await connection.close();
  }
}

async function getFrom(managementUrl: string, path: string): Promise<unknown> {
  const { origin, username, password } = new URL(managementUrl);
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  const response = await fetch(origin + path, { headers: { authorization } });
  return response.json();
}

async function onChannel<T>(url: string, work: (channel: Channel) => Promise<T>): Promise<T> {
  const connection = await connect(url);
  try {
    const channel = await connection.createChannel();
    channel.on('error', () => {}); // the refused call rejects
    return await work(channel);
  } finally {
    await connection.close();
  }
}

test('ends with its command; a fresh start drops the data, and keeps ports and passwords', async () => {
  for (const [kind, { url }] of servers) await keeping[kind.name].put(url);
  await shared.disposeAsync();
  await using stack = new AsyncDisposableStack();
  for (const [kind, before] of servers) {
    expect(await kind.letsIn(before.url)).toBe(false);
    const { launch, ...after } = await kind.prepare(programOf(kind), { ...options(), stack, fresh: true });
    expect([after.url, after.producerUrl]).toEqual([before.url, before.producerUrl]);
    // It takes long to start, and keeps all its data there.
    if (kind === rabbitmq) expect(existsSync(join(home, 'rabbitmq', 'data'))).toBe(false);
    else {
      await launch();
      expect(await keeping[kind.name].has(after.url)).toBe(kind.name === 'Redis'); // it may always lose everything
    }
  }
});

test('the server itself reports data of another version of PostgreSQL, and leaves it as it is', async () => {
  if (!installed.includes(postgres)) return;
  const { launch } = await postgres.prepare(programOf(postgres), options());
  const file = join(dataFolder(home), 'PG_VERSION');
  const version = readFileSync(file, 'utf8');
  writeFileSync(file, '9.6\n');
  await expect(launch()).rejects.toThrow(/initialized by PostgreSQL version 9\.6, which is not compatible with this/);
  writeFileSync(file, version);
});
