/** Installs packages on Debian and its derivatives, as root or with a sudo that asks for no password. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Context } from '../commands/command.ts';
import { findProgram, runToEnd, runWell } from '../processes/child.ts';

/** An installer, if this machine has apt and we may use it. Its calls run one at a time. @throws Trouble with apt's output. */
export async function findInstaller({ env, signal }: Pick<Context, 'env' | 'signal'>) {
  if (!findProgram(['apt-get'], env.PATH) || !existsSync('/etc/debian_version')) return undefined;
  const [command = '', ...asRoot] = process.getuid?.() === 0 ? ['env'] : ['sudo', '-n'];
  if ((await runToEnd(command, [...asRoot, 'true'], { signal })).code !== 0) return undefined;
  return async (packages: string[]) => {
    // Two at once would remove each other's policy (see the script).
    const script = ['flock', '/run/lock/gatepost-install', '/bin/sh', join(import.meta.dirname, 'debian-install.sh')];
    const failure = `${packages.join(', ')} could not be installed:`;
    await runWell(failure, command, [...asRoot, ...script, ...packages], { cwd: '/', signal });
  };
}
