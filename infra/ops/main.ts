/**
 * `npm run ops`: the command line (docs/cli.md), as a machine client of the system that `npm start` keeps running, or of the one named by
 * the variables. Nothing is stored.
 */
import { run } from '@gatepost/cli/run';
import type { Context } from '../local/commands/command.ts';
import { readEnvFile, webhookApiUrl } from '../local/commands/environment.ts';

export default async function ops({ args, env, home }: Pick<Context, 'args' | 'env' | 'home'>): Promise<number> {
  const known: NodeJS.ProcessEnv = { ...readEnvFile(home, 'services'), ...env };
  return run(args, {
    ...env,
    GATEPOST_API: webhookApiUrl(known),
    GATEPOST_ISSUER: known.ISSUER ?? 'http://localhost:4400/',
    GATEPOST_AUDIENCE: known.WEBHOOK_API_AUDIENCE ?? 'http://localhost:4500/',
    GATEPOST_CLIENT_ID: env.OPS_CLIENT_ID ?? 'demo-admin',
    GATEPOST_CLIENT_SECRET: env.OPS_CLIENT_SECRET ?? 'demo-admin-secret',
    ...(env.OPS_ACCESS_TOKEN && { GATEPOST_TOKEN: env.OPS_ACCESS_TOKEN }),
    ...(env.OPS_TOKEN && { GATEPOST_OPS_TOKEN: env.OPS_TOKEN }),
  });
}
