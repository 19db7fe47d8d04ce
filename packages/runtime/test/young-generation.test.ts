/**
 * What our patches of pg and ioredis (patches/) are for: what belongs to a single query or command is freed with the young generation. V8
 * keeps what it takes for methods, and hidden classes, in the old one, and with them all they refer to, until the next full collection.
 */
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { freshDatabase, freshPrefix, redisUrl } from '@gatepost/testkit/stores';
import { expect, test } from '@jest/globals';
import { openLog } from '../src/log.ts';
import { openSettingsPool } from '../src/postgres.ts';
import { connectRedis, makeRedis } from '../src/redis.ts';

setFlagsFromString('--expose-gc');
const collectYoung = runInNewContext('() => gc({ type: "minor" })') as () => void;

const calls = 400;
/** Of what each call refers to. */
const bytes = 20_000;
const made = (call: number) => String(call).padEnd(bytes, 'x');

/** How much the old generation grows in all calls. Few enough to be interpreted: compiled code keeps nothing. */
async function grownBy(call: (text: string) => Promise<unknown>): Promise<number> {
  await call(made(0));
  collectYoung();
  collectYoung();
  const before = oldBytes();
  for (let index = 1; index <= calls; index += 1) {
    await call(made(index));
    if (index % 20 === 0) collectYoung();
  }
  collectYoung();
  return oldBytes() - before;
}

const oldBytes = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')!.space_used_size;
const most = (calls * bytes) / 4;

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
    expect(await redis.measure('a', made(1))).toBe(bytes);
    expect(await grownBy((text) => redis.echo(text))).toBeLessThan(most);
    expect(await grownBy((text) => redis.measure('a', text))).toBeLessThan(most);
  } finally {
    redis.disconnect();
  }
});
