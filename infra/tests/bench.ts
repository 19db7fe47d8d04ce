/** `npm run bench -- <what>`: bench/main.ts with stores of its own, which are durable as in production (fsync). */
import { join } from 'node:path';
import type { Context } from '../local/commands/command.ts';
import { runShown } from '../local/processes/child.ts';
import { rootFolder } from '../local/processes/home.ts';
import { Trouble } from '../local/processes/trouble.ts';
import { cleanEnv } from './clean-env.ts';
import { openOwnStores } from './own-stores.ts';

export default async function bench(context: Context): Promise<number> {
  const { args, env, signal } = context;
  // By path: infra does not depend on benchmarks. A mistyped name is reported before any store starts.
  const { readArgs } = (await import(join(rootFolder, 'bench/benchmarks.ts'))) as {
    readArgs(args: string[]): object & { usage?: string };
  };
  const { usage } = readArgs(args);
  if (usage !== undefined) throw new Trouble(usage);
  const { urls } = await openOwnStores(context, 'bench');
  // Anything measured for comparison has its own database, made as the tests make theirs.
  const beside = { TEST_DATABASE_URL: urls.PostgreSQL };
  const stores = { DATABASE_URL: urls.PostgreSQL, REDIS_URL: urls.Redis, AMQP_URL: urls.RabbitMQ, ...beside };
  return (await runShown(['bench/main.ts', ...args], { env: { ...(await cleanEnv(env)), ...stores }, signal })) ? 0 : 1;
}
