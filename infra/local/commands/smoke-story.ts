/** Runs the smoke story of infra/demo in a process of its own. */
import { runPassing } from '../processes/pass.ts';

/** Its lines go to our output as they come; true if every step held. */
export function runSmoke(env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<boolean> {
  const args = ['--conditions=source', '--disable-warning=ExperimentalWarning', 'infra/demo/smoke.ts'];
  return runPassing(process.execPath, args, { env, signal, deadlineMs: 120_000 });
}
