/**
 * What our patches of pg and ioredis (patches/) are for: what belongs to a single query or command is freed with the young generation. V8
 * keeps what it takes for methods, and hidden classes, in the old one, and with them all they refer to, until the next full collection.
 */
import { oldGenerationGrowth } from '@gatepost/testkit/old-generation';
import { freshDatabase, freshPrefix, redisUrl } from '@gatepost/testkit/stores';
import { expect, test } from '@jest/globals';
import { openLog } from '../src/log.ts';
import { openSettingsPool } from '../src/postgres.ts';
import { connectRedis, makeRedis } from '../src/redis.ts';

const load = { times: 400, bytes: 20_000 };
const most = (load.times * load.bytes) / 4;
const grownBy = (call: (text: string) => Promise<unknown>) => oldGenerationGrowth(load, call);

test('a query that has ended holds nothing in the old generation', async () => {
  await using database = await freshDatabase();
  const pool = openSettingsPool({ connectionString: database.url, query_timeout: 60_000 }, {}, false);
  try {
    expect(
      await grownBy((text) => pool.query({ name: 'echo', text: 'SELECT length($1)', values: [text] })),
    ).toBeLessThan(most);
  } finally {
    await pool.end();
  }
});

test('a Redis command and a script that have ended hold nothing in the old generation', async () => {
  const redis = makeRedis(redisUrl(), {
    keyPrefix: freshPrefix(),
    connectTimeout: 10_000,
    commandTimeout: 60_000,
    log: openLog('test', 'silent'),
    scripts: { measure: { lua: 'return #ARGV[1]', numberOfKeys: 1 } },
  }) as ReturnType<typeof makeRedis> & { measure(key: string, text: string): Promise<number> };
  try {
    await connectRedis(redis, 60_000);
    expect(await redis.measure('a', 'text')).toBe(4);
    expect(await grownBy((text) => redis.echo(text))).toBeLessThan(most);
    expect(await grownBy((text) => redis.measure('a', text))).toBeLessThan(most);
  } finally {
    redis.disconnect();
  }
});
