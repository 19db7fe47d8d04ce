/** `--fresh`: drops what is ours, and nothing else. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { shardsMax, topologyOf } from '@gatepost/contracts/shards';
import { connect } from 'amqplib';
import { Redis } from 'ioredis';
import { readJson, writePrivate } from '../processes/home.ts';
import { rememberedIn, removeContainers } from './docker.ts';
import { withClient } from './postgres.ts';
import { instanceFile, recallInstance } from './private.ts';
import { redisKeyPrefix } from './redis.ts';
import type { Machine, Store } from './stores.ts';

const services = ['rabbitmq', 'postgres', 'redis'] as const;

/**
 * Removes our own instances with their data, the secrets' key and the outbox. They must not be running under anyone else. Their ports and
 * passwords stay: producers, and whoever looks into a store, have their URLs.
 */
export async function dropPrivateData(home: string, machine: Machine): Promise<void> {
  for (const name of services) {
    const folder = join(home, name);
    const known = readJson<{ data?: string; processes?: unknown }>(instanceFile(folder));
    if (known) await recallInstance(folder, AbortSignal.timeout(60_000)); // stops what a killed run left
    if (known?.data?.startsWith('/var/lib/gatepost/')) rmSync(join(known.data, '..'), { recursive: true, force: true });
    rmSync(folder, { recursive: true, force: true });
    if (known) {
      const { data: _data, processes: _processes, ...address } = known;
      writePrivate(instanceFile(folder), JSON.stringify(address));
    }
  }
  if (services.some((name) => readJson(rememberedIn(home, name)))) await removeContainers(await machine.docker());
  for (const name of ['outbox', 'secrets-key']) rmSync(join(home, name), { recursive: true, force: true });
}

/** Drops our part of a store that others may use too. */
export async function dropForeignData(store: Store, env: NodeJS.ProcessEnv): Promise<void> {
  switch (store.name) {
    case 'PostgreSQL':
      await dropSchema(env.AUTH_DATABASE_URL || store.url, 'auth');
      await dropSchema(env.WEBHOOK_DATABASE_URL || store.url, 'webhooks');
      return;
    case 'Redis':
      return dropKeys(store.url, env.REDIS_KEY_PREFIX || redisKeyPrefix);
    case 'RabbitMQ':
      return dropQueues(store.url);
  }
}

function dropSchema(url: string, schema: string): Promise<unknown> {
  return withClient(url, (client) => client.query(`DROP SCHEMA IF EXISTS ${client.escapeIdentifier(schema)} CASCADE`));
}

async function dropKeys(url: string, prefix: string): Promise<void> {
  const client = new Redis(url, { lazyConnect: true, connectTimeout: 2_000 });
  client.on('error', () => {}); // the command that it breaks rejects
  try {
    await client.connect();
    const pattern = `${prefix.replace(/[\\*?[\]]/g, '\\$&')}*`;
    for await (const keys of client.scanStream({ match: pattern, count: 1_000 })) {
      if (keys.length > 0) await client.unlink(...keys);
    }
  } finally {
    client.disconnect();
  }
}

async function dropQueues(url: string): Promise<void> {
  const connection = await connect(url, { timeout: 5_000 });
  try {
    const channel = await connection.createChannel();
    const all = { used: shardsMax, there: shardsMax };
    const { queues, exchanges } = topologyOf({ events: all, deliveries: all });
    await Promise.all(queues.map(({ name }) => channel.deleteQueue(name)));
    for (const { name } of exchanges) await channel.deleteExchange(name);
  } finally {
    await connection.close();
  }
}
