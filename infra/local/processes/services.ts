/** Our three services as processes. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { deliveryTimeoutMs, supervisedStopMs } from '@gatepost/contracts/stopping';
import { readEnv, type z } from '@gatepost/runtime/env';
import { Misconfigured } from '@gatepost/runtime/misconfigured';
import { migrationPrograms } from '@gatepost/testkit/program';
import type { Context } from '../commands/command.ts';
import { type Child, launcher, runToEnd, sourceFlags } from './child.ts';
import { rootFolder } from './home.ts';
import { endOf, Trouble } from './trouble.ts';

export const serviceNames = ['auth', 'webhook-api', 'dispatcher'];

/** Runs before stores are started for nothing. @throws Trouble with every variable that a service would refuse */
export async function checkVariables(env: NodeJS.ProcessEnv): Promise<void> {
  const wrong: string[] = [];
  for (const name of serviceNames) {
    const folder = join(rootFolder, 'services', name);
    // By path: infra does not depend on services.
    const { variables } = (await import(join(folder, 'src/config.ts'))) as { variables: z.ZodObject };
    process.chdir(folder); // relative paths as the service sees them
    try {
      readEnv(variables, env);
    } catch (error) {
      if (!(error instanceof Misconfigured)) throw error;
      wrong.push(`${name}: ${error.message}`);
    }
  }
  process.chdir(rootFolder);
  if (wrong.length > 0) throw new Trouble(...wrong);
}

/** Services have their own deadlines; this is the longest possible one. */
export const serviceStopMs = supervisedStopMs(deliveryTimeoutMs.max);

type Surroundings = Pick<Context, 'env' | 'home' | 'say' | 'signal' | 'stack'>;

/** Starts a service from its environment and waits until it is ready. @throws Trouble with its output. */
export function startService(name: string, options: Surroundings): Promise<Child> {
  const folder = join('services', name);
  // Only its package.json has its start command, with the flags that limit its memory.
  const { scripts } = JSON.parse(readFileSync(join(rootFolder, folder, 'package.json'), 'utf8'));
  return startReady(name, folder, scripts.start, options);
}

/** The demo application's port, as in its client's callback. */
export const demoPort = 4599;

export function startDemoApp(options: Surroundings): Promise<Child> {
  return startReady('demo', 'infra', `node ${sourceFlags.join(' ')} demo/app/main.ts`, options);
}

/** Runs both sides' migration programs in parallel. @throws Trouble with the output of one that failed. */
export async function migrate(env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<void> {
  const migrateBy = async (program: string) => {
    const { code, output } = await runToEnd(process.execPath, [...sourceFlags, program], { env, signal });
    if (code !== 0) throw new Trouble(`${program} failed:`, ...endOf(output));
  };
  await Promise.all(migrationPrograms.map(migrateBy));
}

function startReady(name: string, folder: string, line: string, { env, say, ...running }: Surroundings) {
  let isReady = false;
  // A service sends 'ready', and then its news: each mail that it has sent, with the link.
  const onMessage = (said: unknown) => {
    isReady ||= said === 'ready';
    const { news } = said as { news?: string };
    if (news) say.about('mail', news);
  };
  return launcher(running, {
    name,
    command: '/bin/sh',
    args: ['-c', `exec env ${line}`],
    env,
    cwd: join(rootFolder, folder),
    signal: running.signal,
    onMessage,
    letsIn: async () => isReady,
    stopDeadlineMs: serviceStopMs,
  })();
}
