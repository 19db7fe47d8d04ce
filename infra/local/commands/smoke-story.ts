/** Runs the smoke story of infra/demo in a process of its own. */
import { runShown } from '../processes/child.ts';

/** Its lines go to our output as they come; true if every step held. */
export function runSmoke(env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<boolean> {
  return runShown(['infra/demo/smoke.ts'], { env, signal, deadlineMs: 120_000 });
}
