/** The webhook API as a process. */
import { run } from '@gatepost/runtime/run';
import { variables } from './config.ts';
import { name, start } from './start.ts';

await run(name, variables, async (context) => {
  await start(context);
});
