/** `npm run smoke`: the smoke story against the system that `npm start` keeps running, or that the environment names. */

import { Trouble } from '../processes/trouble.ts';
import { runCommand } from './command.ts';
import { readProducerUrl, readServicesEnv, webhookApiUrl } from './environment.ts';
import { runSmoke } from './smoke-story.ts';

await runCommand(async ({ env, home, signal }) => {
  const written = readServicesEnv(home);
  if (!written && !env.AMQP_URL)
    throw new Trouble(
      'Nothing has been started here yet: `npm start` first, or name the running system with ISSUER, WEBHOOK_API_URL and AMQP_URL.',
    );
  const values = { ...written, PRODUCER_AMQP_URL: env.AMQP_URL ? undefined : readProducerUrl(home), ...env };
  return (await runSmoke({ ...values, WEBHOOK_API_URL: webhookApiUrl(values) }, signal)) ? 0 : 1;
});
