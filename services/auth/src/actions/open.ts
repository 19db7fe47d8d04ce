/** The parts of the gate that run the tenant’s own code. */
import { makeGuard } from '@gatepost/runtime/address';
import { logOfModule } from '@gatepost/runtime/log';
import type { Infrastructure } from '../infrastructure.ts';
import type { Outlets } from '../outlets.ts';
import { makeExecutionStore } from './executions.ts';
import { openActionMetrics } from './metrics.ts';
import { makeAskOutside } from './outside.ts';
import { makePauses } from './pauses.ts';
import { openActionPool } from './pool.ts';
import { makeActionRunner } from './runner.ts';
import { makeActionStore } from './store.ts';

/** No process is started before any of it runs. */
export function openActions(parts: Infrastructure & Pick<Outlets, 'audit'>) {
  const { env, stack, registry, redis, prefix, actionPackages } = parts;
  const log = logOfModule(parts.log, 'actions');
  const actionPool = stack.use(
    openActionPool({
      limits: { timeoutMs: env.ACTIONS_TIMEOUT_MS, memoryBytes: env.ACTIONS_MEMORY_MB * 1024 * 1024 },
      outside: makeAskOutside(makeGuard(env.OUTBOUND_ALLOWED_NETWORKS), env.ACTIONS_ALLOWED_HOSTS),
      packages: actionPackages.folder,
      onStart: ({ isSeparate }) => log.info({ network_namespace: isSeparate }, 'actions run in their own processes'),
    }),
  );
  const actions = makeActionStore({ ...parts, present: (versions) => actionPool.keepOnly(versions) });
  const executions = makeExecutionStore(redis, prefix);
  const onFault = env.ACTIONS_ON_FAULT;
  const metrics = openActionMetrics(registry);
  const runner = makeActionRunner({ ...parts, actions, pool: actionPool, executions, log, onFault, metrics });
  return { actions, actionPool, executions, runner, pauses: makePauses(redis, prefix, parts.seal) };
}
