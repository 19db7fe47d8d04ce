/** `npm run smoke`: runs the smoke story of infra/demo against the system started by `npm start` or named by the environment. */
import { runShown } from '../processes/child.ts';
import { Trouble } from '../processes/trouble.ts';
import type { Context } from './command.ts';
import { producerEnvFile, readEnvFile, servicesEnvFile, webhookApiUrl } from './environment.ts';

export default async function smoke({ env, home, signal }: Context): Promise<number> {
  const written = readEnvFile(servicesEnvFile(home));
  if (!written && !env.AMQP_URL)
    throw new Trouble(
      'Nothing has been started here yet: `npm start` first, or name the running system with ISSUER, WEBHOOK_API_URL and AMQP_URL.',
    );
  const producer = env.AMQP_URL ? { PRODUCER_AMQP_URL: undefined } : readEnvFile(producerEnvFile(home));
  const values = { ...written, ...producer, ...env };
  return (await runSmoke({ ...values, WEBHOOK_API_URL: webhookApiUrl(values) }, signal)) ? 0 : 1;
}

/** Prints its lines as they come; true if every step passed. */
export function runSmoke(env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<boolean> {
  return runShown(['infra/demo/smoke.ts'], { env, signal, deadlineMs: 120_000 });
}
