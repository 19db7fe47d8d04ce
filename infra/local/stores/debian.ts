/** Installing a distribution's package, on Debian and its relatives, as root or with a sudo that asks for no password. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { runToEnd } from '../processes/child.ts';
import { findProgram } from '../processes/programs.ts';
import { endOf, Trouble } from '../processes/trouble.ts';

/** Installs packages, one at a time however many ask; `note` hears what is going on. */
export type Installer = (packageName: string, note: (doing: string) => void) => Promise<void>;

const script = join(import.meta.dirname, 'debian-install.sh');

/** An installer, if this machine has apt and lets us use it. */
export async function findInstaller(signal: AbortSignal, path?: string): Promise<Installer | undefined> {
  if (!findProgram(['apt-get'], path) || !existsSync('/etc/debian_version')) return undefined;
  const isRoot = process.getuid?.() === 0;
  const asRoot = isRoot ? [] : ['sudo', '-n'];
  if (!isRoot && (await runToEnd('sudo', ['-n', 'true'], { signal })).code !== 0) return undefined;
  let turn: Promise<unknown> = Promise.resolve();
  let more = ['update'];
  return (packageName, note) => {
    const install = async () => {
      note(`installing the package ${packageName}`);
      const [command = '', ...args] = [...asRoot, '/bin/sh', script, packageName, ...more];
      const { code, output } = await runToEnd(command, args, { cwd: '/', signal });
      more = [];
      note('');
      if (code !== 0) throw new Trouble(`The package ${packageName} could not be installed:`, ...endOf(output));
    };
    note(`waiting to install ${packageName}`);
    const mine = turn.then(install);
    turn = mine.catch(() => {}); // whoever asked hears of it
    return mine;
  };
}
