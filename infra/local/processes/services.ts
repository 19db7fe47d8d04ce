/** Our three services as processes. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { deliveryTimeoutMs, supervisedStopMs } from '@gatepost/contracts/stopping';
import { readEnv, type z } from '@gatepost/runtime/env';
import { Misconfigured } from '@gatepost/runtime/misconfigured';
import { migrationPrograms } from '@gatepost/testkit/program';
import { type Child, runToEnd, sourceFlags } from './child.ts';
import { rootFolder } from './home.ts';
import { launcher } from './launch.ts';
import { answers, holderOf } from './ports.ts';
import { endOf, Trouble } from './trouble.ts';

export const serviceNames = ['auth', 'webhook-api', 'dispatcher'];

/** Every port that a service listens on, with its variable and default. */
export const servicePorts = [
  { variable: 'AUTH_PORT', port: 4400 },
  { variable: 'AUTH_TLS_PORT', port: 4443 },
  { variable: 'AUTH_OPS_PORT', port: 4401 },
  { variable: 'WEBHOOK_API_PORT', port: 4500 },
  { variable: 'WEBHOOK_API_TLS_PORT', port: 4543 },
  { variable: 'WEBHOOK_API_OPS_PORT', port: 4501 },
  { variable: 'DISPATCHER_OPS_PORT', port: 4601 },
];

/** The port that a variable names, or its default; undefined if it is not a port, which the service itself will say. */
export function portOf(env: NodeJS.ProcessEnv, variable: string): number | undefined {
  const value = env[variable];
  if (!value) return servicePorts.find((entry) => entry.variable === variable)?.port;
  return /^\d{1,5}$/.test(value) && Number(value) <= 65_535 ? Number(value) : undefined;
}

/** @throws Trouble naming every taken port with its variable and, where the machine shows it, by what it is taken. */
export async function checkPorts(env: NodeJS.ProcessEnv): Promise<void> {
  const taken: string[] = [];
  for (const { variable } of servicePorts) {
    const port = portOf(env, variable);
    if (!port || !(await answers(port, env.HOST || undefined))) continue;
    taken.push(`Port ${port} is taken by ${await holderOf(port)}: stop it, or set ${variable} to a free port.`);
  }
  if (taken.length > 0) throw new Trouble(...taken, 'A second Gatepost also needs a folder of its own: GATEPOST_HOME.');
}

/** Told before a store is started for nothing. @throws Trouble with all that the services would refuse of these variables */
export async function checkVariables(env: NodeJS.ProcessEnv): Promise<void> {
  const typedAt = process.cwd();
  const wrong: string[] = [];
  for (const name of serviceNames) {
    const folder = join(rootFolder, 'services', name);
    // By path: infra depends on no service.
    const { variables } = (await import(join(folder, 'src/config.ts'))) as { variables: z.ZodObject };
    try {
      process.chdir(folder); // as the service sees relative paths
      readEnv(variables, env);
    } catch (error) {
      if (!(error instanceof Misconfigured)) throw error;
      wrong.push(`${name}: ${error.message}`);
    } finally {
      process.chdir(typedAt);
    }
  }
  if (wrong.length > 0) throw new Trouble(...wrong);
}

/** A service has a deadline of its own; this is the longest that any may have. */
export const serviceStopMs = supervisedStopMs(deliveryTimeoutMs.max);

export type ServiceOptions = {
  env: NodeJS.ProcessEnv;
  home: string;
  /** Closes it at the end; `signal` tells it to stop before. */
  stack: AsyncDisposableStack;
  signal: AbortSignal;
  /** Hears what a service has to tell whoever started it: each mail that it has sent, with its link. */
  onNews?: (line: string) => void;
};

/** Starts a service from its environment and waits until it says that it is ready. @throws Trouble with what it said. */
export function startService(name: string, options: ServiceOptions): Promise<Child> {
  const folder = join('services', name);
  // How it starts, with the flags that keep its memory small, stands in one place: its own package.
  const manifest = JSON.parse(readFileSync(join(rootFolder, folder, 'package.json'), 'utf8'));
  return startReady(name, ['/bin/sh', '-c', `exec env ${manifest.scripts.start}`], folder, options);
}

/** The demo application, on the port that its client's callback names. */
export const demoPort = 4599;

export function startDemoApp(options: ServiceOptions): Promise<Child> {
  return startReady('demo', [process.execPath, ...sourceFlags, 'demo/app/main.ts'], 'infra', options);
}

/** Both sides' migrations, each by its own program, side by side. @throws Trouble with what the one that failed said. */
export async function migrate(env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<void> {
  const migrateBy = async (program: string) => {
    const { code, output } = await runToEnd(process.execPath, [...sourceFlags, program], { env, signal });
    if (code !== 0) throw new Trouble(`${program} failed:`, ...endOf(output));
  };
  await Promise.all(migrationPrograms.map(migrateBy));
}

function startReady(
  name: string,
  [command = '', ...args]: string[],
  folder: string,
  { onNews, ...options }: ServiceOptions,
): Promise<Child> {
  let isReady = false;
  // A service says 'ready', and then what it has to tell.
  const onMessage = (said: unknown) => {
    isReady ||= said === 'ready';
    const { news } = said as { news?: string };
    if (news) onNews?.(news);
  };
  const { env, signal } = options;
  const how = { env, signal, cwd: join(rootFolder, folder), onMessage, stopDeadlineMs: serviceStopMs };
  return launcher(options, { name, command, args, log: name, ...how, letsIn: async () => isReady })();
}
