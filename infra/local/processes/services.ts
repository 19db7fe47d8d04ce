/** Our three services as processes. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { deliveryTimeoutMs, supervisedStopMs } from '@gatepost/contracts/stopping';
import { type Child, type Group, runToEnd, sourceFlags, startChild } from './child.ts';
import { logEnd, logFile, logLength, rootFolder, runningIn } from './home.ts';
import { findHolder, isFree } from './ports.ts';
import { BadConfiguration, endOf, Trouble } from './trouble.ts';

export type ServiceName = 'auth' | 'webhook-api' | 'dispatcher';

/** Every port that a service listens on, with its variable and default. */
export const servicePorts: { service: ServiceName; variable: string; port: number }[] = [
  { service: 'auth', variable: 'AUTH_PORT', port: 4400 },
  { service: 'auth', variable: 'AUTH_TLS_PORT', port: 4443 },
  { service: 'auth', variable: 'AUTH_OPS_PORT', port: 4401 },
  { service: 'webhook-api', variable: 'WEBHOOK_API_PORT', port: 4500 },
  { service: 'webhook-api', variable: 'WEBHOOK_API_TLS_PORT', port: 4543 },
  { service: 'webhook-api', variable: 'WEBHOOK_API_OPS_PORT', port: 4501 },
  { service: 'dispatcher', variable: 'DISPATCHER_OPS_PORT', port: 4601 },
];

/** The port that a variable names, or its default; undefined if it is not a port, which the service itself will say. */
export function portOf(env: NodeJS.ProcessEnv, variable: string): number | undefined {
  const value = env[variable];
  if (!value) return servicePorts.find((entry) => entry.variable === variable)?.port;
  return /^\d{1,5}$/.test(value) ? Number(value) : undefined;
}

/** @throws Trouble naming our command that has the ports, or every taken one with its variable and, where the machine shows it, by what. */
export async function checkPorts(env: NodeJS.ProcessEnv, home: string): Promise<void> {
  const taken: string[] = [];
  for (const { service, variable } of servicePorts) {
    const port = portOf(env, variable);
    if (!port || (await isFree(port, env.HOST || undefined))) continue;
    const holder = await findHolder(port);
    const by = holder ? `process ${holder.pid} (${holder.command})` : 'another process';
    taken.push(`Port ${port} of ${service} is taken by ${by}: stop it, or set ${variable} to a free port.`);
  }
  if (taken.length === 0) return;
  const pid = runningIn(home);
  if (!pid) throw new Trouble(...taken);
  throw new Trouble(
    `Gatepost already runs with ${home} (process ${pid}).`,
    'Stop it first, or start another with a folder (GATEPOST_HOME) and ports (docs/configuration.md) of its own.',
  );
}

/** How long a service may take to stop; the default where the variable is none, which the service itself will say. */
export function serviceStopMs({ DELIVERY_TIMEOUT_MS: text }: NodeJS.ProcessEnv): number {
  const ms = /^\d{1,6}$/.test(text ?? '') ? Number(text) : deliveryTimeoutMs.default;
  return supervisedStopMs(Math.min(ms, deliveryTimeoutMs.max));
}

const readyTimeoutMs = 60_000;
/** A service's exit status when its environment or seed is wrong (EX_CONFIG). */
const badConfiguration = 78;

export type ServiceOptions = {
  env: NodeJS.ProcessEnv;
  home: string;
  group: Group;
  signal: AbortSignal;
  /** Hears what a service has to tell whoever started it: each mail that it has sent, with its link. */
  onNews?: (line: string) => void;
};

/** Starts a service from its environment and waits until it says that it is ready. @throws Trouble with what it said. */
export function startService(name: ServiceName, options: ServiceOptions): Promise<Child> {
  return startReady(name, ['/bin/sh', '-c', `exec env ${startScript(name)}`], join('services', name), options);
}

/** The demo application, on the port that its client's callback names. */
export const demoPort = 4599;

export function startDemoApp(options: ServiceOptions): Promise<Child> {
  return startReady('demo', [process.execPath, ...sourceFlags, 'demo/app/main.ts'], 'infra', options);
}

/** Both sides' migrations, each by its own program, side by side. @throws Trouble with what the one that failed said. */
export async function migrate(env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<void> {
  const programs = ['services/auth/src/migrations.ts', 'packages/webhook-db/src/migrations.ts'];
  await Promise.all(
    programs.map(async (program) => {
      const { code, output } = await runToEnd(process.execPath, [...sourceFlags, program], { env, signal });
      if (code !== 0) throw new Trouble(`${program} failed:`, ...endOf(output));
    }),
  );
}

async function startReady(
  name: string,
  [command = '', ...args]: string[],
  folder: string,
  { env, home, group, signal, onNews }: ServiceOptions,
): Promise<Child> {
  signal.throwIfAborted();
  const log = logFile(home, name);
  const before = logLength(log);
  const cwd = join(rootFolder, folder);
  const stopDeadlineMs = serviceStopMs(env);
  const child = group.use(startChild({ name, command, args, cwd, env, log, ipc: true, stopDeadlineMs }));
  const late = AbortSignal.any([signal, AbortSignal.timeout(readyTimeoutMs)]);
  const ready = once(child.process, 'message', { signal: late }).then(
    () => undefined, // 'ready' is what it says first
    () => `was not ready within ${readyTimeoutMs / 1000} s`,
  );
  const ended = child.exited.then(({ code, signal: by }) => `could not start (status ${code ?? by})`);
  const what = await Promise.race([ready, ended]);
  signal.throwIfAborted();
  if (!what) {
    child.process.on('message', (message: { news?: unknown }) => {
      if (typeof message?.news === 'string') onNews?.(message.news);
    });
    return child;
  }
  await child[Symbol.asyncDispose]();
  const end = logEnd(log, before);
  // What an operator has to mend stands there in plain lines; the structured ones are for other troubles.
  if ((await child.exited).code === badConfiguration)
    throw new BadConfiguration(`${name} ${what}:`, ...end.filter((line) => !line.trimStart().startsWith('{')));
  throw new Trouble(`${name} ${what}; the end of ${log}:`, ...end);
}

/** How the service starts, with the flags that keep its memory small, stands in one place: its own package. */
function startScript(name: ServiceName): string {
  const manifest = readFileSync(join(rootFolder, 'services', name, 'package.json'), 'utf8');
  return (JSON.parse(manifest) as { scripts: { start: string } }).scripts.start;
}
