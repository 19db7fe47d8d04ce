/** Redis: on its default port, or a private instance. */
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { launcher } from '../processes/child.ts';
import { writePrivate } from '../processes/home.ts';
import { recallInstance, type StoreKind } from './private.ts';

/** Prefixes all our keys, so that a Redis can be shared. */
export const redisKeyPrefix = 'gatepost:';

export const redis: StoreKind = {
  name: 'Redis',
  variable: 'REDIS_URL',
  service: 'redis',
  package: 'redis-server',
  programs: () => ['redis-server', 'valkey-server'],
  usual: (_env, port = 6379) => [`redis://127.0.0.1:${port}`],
  /** Can we write there? We cannot use a replica, or a server that wants a password. */
  letsIn: (url) =>
    withClient(url, (client) => client.set(`${redisKeyPrefix}probe`, '1', 'EX', 1)).then(Boolean, () => false),
  async prepare(command, options) {
    const { folder, port, password } = await recallInstance(options, 'redis');
    const url = `redis://:${password}@127.0.0.1:${port}`;
    const file = join(folder, 'redis.conf');
    // A snapshot at a clean stop keeps people signed in until the next `npm start`; nothing depends on it. Bounded, so that it cannot
    // fill the machine; `noeviction`: a full Redis must refuse writes rather than forget a limit (docs/redis.md).
    const config = [
      'bind 127.0.0.1',
      `port ${port}`,
      `requirepass ${password}`,
      options.forTests ? 'save ""' : 'save 900 1',
      'stop-writes-on-bgsave-error no',
      'maxmemory 256mb',
      'maxmemory-policy noeviction',
      `dir "${folder}"`,
    ];
    writePrivate(file, `${config.join('\n')}\n`);
    const launch = launcher(options, { name: 'Redis', command, args: [file], letsIn: () => redis.letsIn(url) });
    return { url, launch };
  },
  drop: (url, env) =>
    withClient(url, async (client) => {
      const prefix = (env.REDIS_KEY_PREFIX || redisKeyPrefix).replace(/[\\*?[\]]/g, '\\$&');
      for await (const keys of client.scanStream({ match: `${prefix}*`, count: 1_000 }))
        if (keys.length > 0) await client.unlink(...keys);
    }),
};

async function withClient<T>(url: string, work: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(url, { retryStrategy: () => null, connectTimeout: 1_000, commandTimeout: 2_000 });
  client.on('error', () => {}); // the failed command rejects
  return work(client).finally(() => client.disconnect());
}
