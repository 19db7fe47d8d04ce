/** `npm run bench -- <what>`: bench/main.ts with stores of its own, which keep their promises as in production (fsync). */
import { runShown } from '../processes/child.ts';
import { cleanEnv, openOwnStores } from '../stores/own-stores.ts';
import { runCommand } from './command.ts';

await runCommand(async (context) => {
  const { args, env: given, signal } = context;
  const { urls } = await openOwnStores(context, 'bench');
  // What is measured beside it has a database of its own, made as the tests make theirs.
  const beside = { TEST_DATABASE_URL: urls.PostgreSQL };
  const stores = { DATABASE_URL: urls.PostgreSQL, REDIS_URL: urls.Redis, AMQP_URL: urls.RabbitMQ, ...beside };
  return (await runShown(['bench/main.ts', ...args], { env: { ...cleanEnv(given), ...stores }, signal })) ? 0 : 1;
});
