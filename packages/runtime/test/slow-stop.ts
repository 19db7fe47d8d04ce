/** A service that takes STOP_TAKES_MS to stop, and may take STOP_MAY_TAKE_MS. */
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { run } from '../src/run.ts';
import { integer } from '../src/values.ts';
import { commonVariables } from '../src/variables.ts';

const variables = z.object({ ...commonVariables, STOP_TAKES_MS: integer(0), STOP_MAY_TAKE_MS: integer(0) });

const service = {
  name: 'slow stop',
  stopDeadlineMs: (env: z.infer<typeof variables>) => env.STOP_MAY_TAKE_MS,
};

await run(service, variables, async ({ env, stack }) => {
  stack.defer(() => wait(env.STOP_TAKES_MS));
  const open = setInterval(() => {}, 1_000);
  stack.defer(() => clearInterval(open));
});
