/** The gate: OAuth 2 and OpenID Connect. `gate.ts` lists its parts. */
import { gateStopMs } from '@gatepost/contracts/stopping';
import { run } from '@gatepost/runtime/run';
import { variables } from './config.ts';
import { startGate } from './gate.ts';

await run({ name: 'auth', stopDeadlineMs: () => gateStopMs }, variables, async (context) => {
  const { listening } = await startGate(context);
  for (const place of listening) context.log.info(place, 'the gate is open');
});
