/**
 * Prints by how many bytes the old generation grows while queries, Redis commands and scripts come and end: see young-generation.test.ts.
 * Argument: a database's URL.
 */
import { oldGenerationGrowth } from '@gatepost/testkit/old-generation';
import { freshPrefix, redisUrl } from '@gatepost/testkit/stores';
import { openLog } from '../src/log.ts';
import { openSettingsPool } from '../src/postgres.ts';
import { connectRedis, makeRedis } from '../src/redis.ts';

const load = { times: 400, bytes: 20_000 };
const pool = openSettingsPool({ connectionString: process.argv[2]!, query_timeout: 60_000 }, {}, false);
const ask = (text: string) => pool.query({ name: 'echo', text: 'SELECT length($1)', values: [text] });
const redis = makeRedis(redisUrl(), {
  keyPrefix: freshPrefix(),
  connectTimeout: 10_000,
  commandTimeout: 60_000,
  log: openLog('test', 'silent'),
  scripts: { measure: { lua: 'return #ARGV[1]', numberOfKeys: 1 } },
}) as ReturnType<typeof makeRedis> & { measure(key: string, text: string): Promise<number> };
await connectRedis(redis, 60_000);
const query = await oldGenerationGrowth(load, ask);
const command = await oldGenerationGrowth(load, (text) => redis.echo(text));
const script = await oldGenerationGrowth(load, (text) => redis.measure('a', text));
console.log(JSON.stringify({ query, command, script }));
process.exit();
