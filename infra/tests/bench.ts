/** `npm run bench -- <what>`: bench/main.ts with stores of its own, which keep their promises as in production (fsync). */

import type { Context } from '../local/commands/command.ts';
import { cleanEnv } from '../local/commands/environment.ts';
import { runShown } from '../local/processes/child.ts';
import { openOwnStores } from './own-stores.ts';

export default async function bench(context: Context): Promise<number> {
  const { args, env, signal } = context;
  const { urls } = await openOwnStores(context, 'bench');
  // What is measured beside it has a database of its own, made as the tests make theirs.
  const beside = { TEST_DATABASE_URL: urls.PostgreSQL };
  const stores = { DATABASE_URL: urls.PostgreSQL, REDIS_URL: urls.Redis, AMQP_URL: urls.RabbitMQ, ...beside };
  return (await runShown(['bench/main.ts', ...args], { env: { ...cleanEnv(env), ...stores }, signal })) ? 0 : 1;
}
