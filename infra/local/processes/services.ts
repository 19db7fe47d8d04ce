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

/** Told before a store is started for nothing. @throws Trouble with all that the services would refuse of these variables */
export async function checkVariables(env: NodeJS.ProcessEnv): Promise<void> {
  const wrong: string[] = [];
  for (const name of serviceNames) {
    const folder = join(rootFolder, 'services', name);
    // By path: infra depends on no service.
    const { variables } = (await import(join(folder, 'src/config.ts'))) as { variables: z.ZodObject };
    process.chdir(folder); // as the service sees relative paths
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

/** A service has a deadline of its own; this is the longest that any may have. */
export const serviceStopMs = supervisedStopMs(deliveryTimeoutMs.max);

type Surroundings = Pick<Context, 'env' | 'home' | 'say' | 'signal' | 'stack'>;

/** Starts a service from its environment and waits until it says that it is ready. @throws Trouble with what it said. */
export function startService(name: string, options: Surroundings): Promise<Child> {
  const folder = join('services', name);
  // How it starts, with the flags that keep its memory small, stands in one place: its own package.
  const { scripts } = JSON.parse(readFileSync(join(rootFolder, folder, 'package.json'), 'utf8'));
  return startReady(name, folder, scripts.start, options);
}

/** The demo application, on the port that its client's callback names. */
export const demoPort = 4599;

export function startDemoApp(options: Surroundings): Promise<Child> {
  return startReady('demo', 'infra', `node ${sourceFlags.join(' ')} demo/app/main.ts`, options);
}

/** Both sides' migrations, each by its own program, side by side. @throws Trouble with what the one that failed said. */
export async function migrate(env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<void> {
  const migrateBy = async (program: string) => {
    const { code, output } = await runToEnd(process.execPath, [...sourceFlags, program], { env, signal });
    if (code !== 0) throw new Trouble(`${program} failed:`, ...endOf(output));
  };
  await Promise.all(migrationPrograms.map(migrateBy));
}

function startReady(name: string, folder: string, line: string, { env, say, ...running }: Surroundings) {
  let isReady = false;
  // A service says 'ready', and then what it has to tell whoever started it: each mail that it has sent, with its link.
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
