/** The gate: OAuth 2 and OpenID Connect. `gate.ts` lists its parts. */
import { run } from '@gatepost/runtime/run';
import { variables } from './config.ts';
import { startGate } from './gate.ts';

await run('auth', variables, async (context) => {
  const { port } = await startGate(context);
  context.log.info({ issuer: context.env.ISSUER, port }, 'the gate is open');
});
