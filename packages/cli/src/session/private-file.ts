/** Files that only their owner may read, in a folder that only the owner may change. */
import { randomBytes } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { Problem } from '../problem.ts';

export function configFolder(env: NodeJS.ProcessEnv): string {
  if (env.GATEPOST_CONFIG_DIR) return path.resolve(env.GATEPOST_CONFIG_DIR);
  if (process.platform === 'win32' && env.APPDATA) return path.join(env.APPDATA, 'gatepost');
  return path.join(env.XDG_CONFIG_HOME || path.join(env.HOME || homedir(), '.config'), 'gatepost');
}

/** Makes it. @throws Problem when nothing can be kept there. */
export function openConfigFolder(env: NodeJS.ProcessEnv): void {
  const folder = configFolder(env);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    accessSync(folder, constants.W_OK);
  } catch (error) {
    throw new Problem(
      'failed',
      `${folder} cannot be written: ${(error as NodeJS.ErrnoException).code}`,
      'It keeps your sign-ins. GATEPOST_CONFIG_DIR=FOLDER keeps them elsewhere.',
    );
  }
  checkOwner(folder, 0o022, 'chmod 700');
}

/** undefined: it does not exist. @throws Problem when others may read it or change its folder. */
export function readPrivate(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false });
  if (!found) return undefined;
  checkOwner(path.dirname(file), 0o022, 'chmod 700');
  checkOwner(file, 0o077, 'chmod 600');
  return readFileSync(file, 'utf8');
}

/** Writes it whole or not at all: concurrent readers see the previous one. */
export function writePrivate(file: string, text: string): void {
  const folder = path.dirname(file);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  checkOwner(folder, 0o022, 'chmod 700');
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  const opened = openSync(draft, 'wx', 0o600);
  try {
    try {
      writeFileSync(opened, text);
      fsyncSync(opened);
    } finally {
      closeSync(opened);
    }
    renameSync(draft, file);
  } catch (error) {
    removePrivate(draft);
    throw error;
  }
}

export const removePrivate = (file: string): void => rmSync(file, { force: true });

function checkOwner(file: string, forbidden: number, remedy: string): void {
  if (process.platform === 'win32') return; // a profile's folder is its owner's there
  const { mode, uid } = statSync(file);
  if (process.getuid && uid !== process.getuid() && uid !== 0)
    throw new Problem('failed', `${file} belongs to another user, and would hold your tokens`);
  if (mode & forbidden)
    throw new Problem(
      'failed',
      `${file} is open to other users, and holds what only you may know`,
      `${remedy} '${file}'`,
    );
}
