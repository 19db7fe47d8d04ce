/** Redis: on its default port, or a private instance. It holds rate state, sessions and short-lived artefacts only. */
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { writePrivate } from '../processes/home.ts';
import { findProgram } from '../processes/programs.ts';
import { type Instance, launch, recallInstance, type StoreKind } from './private.ts';

/** Before every key of ours, so that a Redis may be shared. */
export const redisKeyPrefix = 'gatepost:';

export const redis: StoreKind = {
  name: 'Redis',
  variable: 'REDIS_URL',
  service: 'redis',
  package: 'redis-server',
  async probe(_env, port = 6379) {
    const url = `redis://127.0.0.1:${port}`;
    return (await letsIn(url)) ? url : undefined;
  },
  letsIn,
  find: (path) => findProgram(['redis-server', 'valkey-server'], path),
  async prepare(command, options) {
    const folder = join(options.home, 'redis');
    const instance = await recallInstance(folder, options.signal);
    const url = `redis://:${instance.password}@127.0.0.1:${instance.port}`;
    const file = join(folder, 'redis.conf');
    writePrivate(file, config(folder, instance, options.durable));
    const server = { name: 'Redis', command, args: [file], cwd: folder, log: 'redis', letsIn: () => letsIn(url) };
    return { url, launch: () => launch(options, server) };
  },
  drop: (url, env) =>
    withClient(url, async (client) => {
      const prefix = env.REDIS_KEY_PREFIX || redisKeyPrefix;
      const match = `${prefix.replace(/[\\*?[\]]/g, '\\$&')}*`;
      for await (const keys of client.scanStream({ match, count: 1_000 }))
        if (keys.length > 0) await client.unlink(...keys);
    }),
};

/** Can we write there? A replica, or a server that wants a password, cannot be used. */
async function letsIn(url: string): Promise<boolean> {
  return withClient(url, (client) => client.set(`${redisKeyPrefix}probe`, '1', 'EX', 1)).then(
    () => true,
    () => false,
  );
}

async function withClient<T>(url: string, work: (client: Redis) => Promise<T>): Promise<T> {
  const once = { lazyConnect: true, retryStrategy: () => null };
  const client = new Redis(url, { ...once, connectTimeout: 1_000, commandTimeout: 2_000 });
  client.on('error', () => {}); // the command that it breaks rejects
  try {
    await client.connect();
    return await work(client);
  } finally {
    client.disconnect();
  }
}

// A snapshot at a clean stop keeps people signed in from one `npm start` to the next; nothing depends on it. Bounded, so that
// nobody fills the machine; `noeviction`: a full Redis must refuse rather than forget somebody's limit (docs/redis.md).
function config(folder: string, { port, password }: Instance, durable: boolean): string {
  return `${[
    'bind 127.0.0.1',
    `port ${port}`,
    `requirepass ${password}`,
    'daemonize no',
    'appendonly no',
    durable ? 'save 900 1' : 'save ""',
    'stop-writes-on-bgsave-error no',
    'maxmemory 256mb',
    'maxmemory-policy noeviction',
    `dir "${folder}"`,
  ].join('\n')}\n`;
}
