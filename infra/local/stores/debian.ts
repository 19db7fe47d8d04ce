/** Installs packages on Debian and its derivatives, as root or with a sudo that asks for no password. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { runToEnd } from '../processes/child.ts';
import { findProgram } from '../processes/programs.ts';
import { endOf, Trouble } from '../processes/trouble.ts';

/** Calls run one at a time. @throws Trouble with apt's output. */
export type Installer = (packages: string[]) => Promise<void>;

const script = join(import.meta.dirname, 'debian-install.sh');

/** An installer, if this machine has apt and we may use it. */
export async function findInstaller(signal: AbortSignal, path?: string): Promise<Installer | undefined> {
  if (!findProgram(['apt-get'], path) || !existsSync('/etc/debian_version')) return undefined;
  const asRoot = process.getuid?.() === 0 ? [] : ['sudo', '-n'];
  if (asRoot.length > 0 && (await runToEnd('sudo', ['-n', 'true'], { signal })).code !== 0) return undefined;
  return async (packages) => {
    // Two at once would remove each other's policy (see the script).
    const [command = '', ...args] = [...asRoot, 'flock', '/run/lock/gatepost-install', '/bin/sh', script, ...packages];
    const { code, output } = await runToEnd(command, args, { cwd: '/', signal });
    if (code !== 0) throw new Trouble(`${packages.join(', ')} could not be installed:`, ...endOf(output));
  };
}
