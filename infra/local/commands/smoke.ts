/** `npm run smoke`: runs the smoke story of infra/demo against the system started by `npm start` or named by the environment. */
import { runShown } from '../processes/child.ts';
import type { Context } from './command.ts';
import { readEnvFile, webhookApiUrl } from './environment.ts';

export default async function smoke({ env, home, signal }: Context): Promise<number> {
  const producer = env.AMQP_URL ? { PRODUCER_AMQP_URL: undefined } : readEnvFile(home, 'producer');
  const values = { ...readEnvFile(home, 'services'), ...producer, ...env };
  return (await runSmoke({ ...values, WEBHOOK_API_URL: webhookApiUrl(values) }, signal)) ? 0 : 1;
}

/** Prints its lines as they come; true if every step passed. */
export function runSmoke(env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<boolean> {
  return runShown(['infra/demo/smoke.ts'], { env, signal, timeout: 120_000 });
}
