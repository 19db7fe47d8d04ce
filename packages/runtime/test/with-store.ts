/** A service that needs PostgreSQL. Its log says at which port it is asked whether it is ready, unless it was told one. */
import pg from 'pg';
import { z } from 'zod';
import { openMetrics } from '../src/metrics.ts';
import { openOps } from '../src/ops.ts';
import { run } from '../src/run.ts';
import { integer, url } from '../src/values.ts';
import { commonVariables, stopDelayVariable } from '../src/variables.ts';

const variables = z.object({
  ...commonVariables,
  STOP_DELAY_MS: stopDelayVariable,
  DATABASE_URL: url(['postgres:']),
  OPS_PORT: integer(0, 65_535).default(0),
});

await run('with store', variables, async ({ env, log, stack, stopping }) => {
  const client = new pg.Client({ connectionString: env.DATABASE_URL });
  await client.connect();
  stack.defer(() => client.end());
  const { port } = stack.use(
    await openOps({ host: '127.0.0.1', port: env.OPS_PORT, registry: openMetrics(), log, stores: {}, stopping }),
  );
  log.info({ port }, 'serving');
});
