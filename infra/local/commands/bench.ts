/** `npm run bench -- <what>`: bench/main.ts with stores of its own, which keep their promises as in production (fsync). */

import { runPassing } from '../processes/pass.ts';
import { cleanEnv, openOwnStores } from '../stores/own-stores.ts';
import { runCommand } from './command.ts';

await runCommand(async (context) => {
  const { args, env, signal } = context;
  const { urls } = await openOwnStores(context, 'bench');
  const passed = await runPassing(
    process.execPath,
    ['--conditions=source', '--disable-warning=ExperimentalWarning', 'bench/main.ts', ...args],
    {
      env: { ...cleanEnv(env), DATABASE_URL: urls.PostgreSQL, REDIS_URL: urls.Redis, AMQP_URL: urls.RabbitMQ },
      signal,
    },
  );
  return passed ? 0 : 1;
});
