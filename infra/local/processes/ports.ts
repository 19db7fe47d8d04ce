/** TCP ports of this machine: those of our services, whether one is taken, and by which process. */
import { once } from 'node:events';
import { readFileSync, readlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { runToEnd } from './child.ts';
import { Trouble } from './trouble.ts';

/** The variable and default of every port that a service listens on. */
export const servicePorts = {
  AUTH_PORT: '4400',
  AUTH_TLS_PORT: '4443',
  AUTH_OPS_PORT: '4401',
  WEBHOOK_API_PORT: '4500',
  WEBHOOK_API_TLS_PORT: '4543',
  WEBHOOK_API_OPS_PORT: '4501',
  DISPATCHER_OPS_PORT: '4601',
};

/** @throws Trouble naming every taken port, its variable and, if known, the process that holds it. */
export async function checkPorts(env: NodeJS.ProcessEnv): Promise<void> {
  const taken: string[] = [];
  for (const variable of Object.keys(servicePorts)) {
    const port = Number(env[variable]);
    if (await answers(port, env.HOST || undefined))
      taken.push(`Port ${port} is taken by ${await holderOf(port)}: stop it, or set ${variable} to a free port.`);
  }
  if (taken.length > 0) throw new Trouble(...taken, 'A second Gatepost also needs a folder of its own: GATEPOST_HOME.');
}

/** Does anything accept connections there? */
export function answers(port: number, host = '127.0.0.1'): Promise<boolean> {
  const socket = connect({ port, host });
  const opened = once(socket, 'connect', { signal: AbortSignal.timeout(500) }).then(Boolean, () => false);
  return opened.finally(() => socket.destroy());
}

/** The process that listens on the port, if `ss` is installed and shows it (Linux, and only processes we may inspect). */
export async function holderOf(port: number): Promise<string> {
  const { output } = await runToEnd('ss', ['-Hltnp', `sport = :${port}`]);
  const pid = /pid=(\d+)/.exec(output)?.[1];
  if (!pid) return 'another process';
  try {
    // Without Node's options, but with the folder: many programs are `dist/main.js`.
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    const program = words.filter((word) => word !== '' && !word.startsWith('--')).join(' ');
    return `process ${pid} (${program.slice(0, 80)} in ${readlinkSync(`/proc/${pid}/cwd`)})`;
  } catch {
    return `process ${pid}`; // it ended just now, or is not ours to look at
  }
}
