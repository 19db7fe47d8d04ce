/** Installing a distribution's package, on Debian and its relatives, as root or with a sudo that asks for no password. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { runToEnd } from '../processes/child.ts';
import { findProgram } from '../processes/programs.ts';
import { endOf, Trouble } from '../processes/trouble.ts';

/** Installs packages, one at a time however many ask; `note` hears what is going on. */
export type Installer = (packageName: string, note: (doing: string) => void) => Promise<void>;

const script = fileURLToPath(new URL('debian-install.sh', import.meta.url));

/** An installer, if this machine has apt and lets us use it. */
export async function findInstaller(signal: AbortSignal, path?: string): Promise<Installer | undefined> {
  const aptGet = findProgram(['apt-get'], path);
  if (!aptGet || !existsSync('/etc/debian_version')) return undefined;
  const asRoot = await rootPrefix(signal, path);
  if (!asRoot) return undefined;
  let turn: Promise<unknown> = Promise.resolve();
  let updated = false;
  return (packageName, note) => {
    const install = async () => {
      note(`installing the package ${packageName}`);
      const [command = '/bin/sh', ...args] = [
        ...asRoot,
        '/bin/sh',
        script,
        packageName,
        ...(updated ? [] : ['update']),
      ];
      const { code, output } = await runToEnd(command, args, { cwd: '/', signal });
      updated = true;
      if (code === 0) return;
      throw new Trouble(`The package ${packageName} could not be installed:`, ...endOf(output));
    };
    note(`waiting to install ${packageName}`);
    const mine = turn.then(install);
    turn = mine.catch(() => {}); // whoever asked hears of it
    return mine;
  };
}

async function rootPrefix(signal: AbortSignal, path?: string): Promise<string[] | undefined> {
  if (process.getuid?.() === 0) return [];
  const sudo = findProgram(['sudo'], path);
  if (!sudo) return undefined;
  const { code } = await runToEnd(sudo, ['-n', 'true'], { signal });
  return code === 0 ? [sudo, '-n'] : undefined;
}
