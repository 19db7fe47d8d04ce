/**
 * A profile's secrets: in the system's keyring, through the systems' own programs (libsecret's `secret-tool`, macOS's `security`), which read
 * them from standard input, so that they appear in no process list; otherwise in a file that only the owner can read.
 */

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import path from 'node:path';
import { Problem } from '../problem.ts';
import { configFolder, readPrivate, removePrivate, writePrivate } from './private-file.ts';
import type { Profile } from './profiles.ts';

export type Secrets = {
  /** Who issued them, and for which application: nobody else gets them. */
  issuer: string;
  clientId: string;
  /** By audience. */
  tokens?: Record<string, { value: string; expiresAt: number }>;
  refreshToken?: string;
  clientSecret?: string;
};

export type Store = Profile['store'];

/** Stores them in the system's keyring, if there is one. @returns where they are stored */
export async function keepSecrets(
  env: NodeJS.ProcessEnv,
  profile: string,
  secrets: Secrets,
  store?: Store,
): Promise<Store> {
  const text = JSON.stringify(secrets);
  if (store !== 'file' && (await keyring(env)?.write(profile, text))) {
    removePrivate(secretsFile(env, profile));
    return 'keyring';
  }
  writePrivate(secretsFile(env, profile), text);
  return 'file';
}

/**
 * Undefined: there are none, they are damaged, or they are of another sign-in than the profile's.
 * @throws Problem when the keyring that has them cannot be read
 */
export async function readSecrets(
  env: NodeJS.ProcessEnv,
  name: string,
  { store, issuer, clientId }: Profile,
): Promise<Secrets | undefined> {
  const text = store === 'keyring' ? await theKeyring(env).read(name) : readPrivate(secretsFile(env, name));
  try {
    const secrets = JSON.parse(text ?? '') as Secrets;
    return secrets.issuer === issuer && secrets.clientId === clientId ? secrets : undefined;
  } catch {
    return undefined;
  }
}

/** @throws Problem when the keyring that has them cannot be cleared */
export async function forgetSecrets(env: NodeJS.ProcessEnv, name: string, store: Store): Promise<void> {
  if (store === 'keyring') await theKeyring(env).remove(name);
  removePrivate(secretsFile(env, name));
}

/** A profile's name may be anything, such as a host with a port. */
function secretsFile(env: NodeJS.ProcessEnv, profile: string): string {
  const name = createHash('sha256').update(profile).digest('hex').slice(0, 16);
  return path.join(configFolder(env), `secrets-${name}.json`);
}

type Keyring = {
  write(account: string, text: string): Promise<boolean>;
  /** Undefined: it has none. @throws Problem when it cannot be read */
  read(account: string): Promise<string | undefined>;
  /** @throws Problem when it still has them */
  remove(account: string): Promise<void>;
};

function theKeyring(env: NodeJS.ProcessEnv): Keyring {
  const found = keyring(env);
  if (found) return found;
  throw unreadable(env.GATEPOST_NO_KEYRING ? 'GATEPOST_NO_KEYRING is set' : 'this session has none');
}

const unreadable = (why: string) =>
  new Problem(
    'failed',
    `the tokens are in the system’s keyring, which cannot be used: ${why}`,
    'Unlock it, and use the desktop session in which you signed in. `gatepost login` signs in anew.',
  );

function keyring(env: NodeJS.ProcessEnv): Keyring | undefined {
  if (env.GATEPOST_NO_KEYRING) return undefined;
  if (process.platform === 'darwin') return macKeyring(env);
  return env.DBUS_SESSION_BUS_ADDRESS ? libsecret(env) : undefined;
}

const service = 'gatepost';

/** `lookup` fails silently for what is not there, and for what the user does not unlock; `search` finds both. */
function libsecret(env: NodeJS.ProcessEnv): Keyring {
  const ask = (action: string, account: string) =>
    call(env, 'secret-tool', [action, 'service', service, 'account', account]);
  const check = async (account: string, { failed, said }: Called) => {
    if (failed && said) throw unreadable(said);
    const search = await ask('search', account);
    if (search.failed && search.said) throw unreadable(search.said);
    if (search.text) throw unreadable('it is locked');
  };
  return {
    async write(account, text) {
      const names = ['store', `--label=gatepost: ${account}`, 'service', service, 'account', account];
      return !(await call(env, 'secret-tool', names, text)).failed;
    },
    async read(account) {
      const lookup = await ask('lookup', account);
      if (!lookup.failed) return lookup.text;
      await check(account, lookup);
      return undefined;
    },
    remove: async (account) => check(account, await ask('clear', account)),
  };
}

/** `security -i` takes whole commands from standard input; base64 needs no quoting. */
function macKeyring(env: NodeJS.ProcessEnv): Keyring {
  /** errSecItemNotFound, as an exit code. */
  const notFound = 44;
  const ask = async (action: string, account: string, ...more: string[]) => {
    const names = [action, '-s', service, '-a', encodeURIComponent(account), ...more];
    const answer = await call(env, 'security', names);
    if (answer.failed && answer.code !== notFound) throw unreadable(answer.said || 'it is locked');
    return answer.failed ? undefined : Buffer.from(answer.text.trim(), 'base64').toString();
  };
  return {
    async write(account, text) {
      const secret = Buffer.from(text).toString('base64');
      const command = `add-generic-password -U -s ${service} -a ${encodeURIComponent(account)} -w ${secret}\n`;
      const { failed } = await call(env, 'security', ['-i'], command);
      return !failed && (await this.read(account).catch(() => undefined)) === text;
    },
    read: (account) => ask('find-generic-password', account, '-w'),
    remove: async (account) => void (await ask('delete-generic-password', account)),
  };
}

type Called = {
  failed: boolean;
  /** Its exit code, if it ended by itself. */
  code: unknown;
  text: string;
  /** On its standard error, or why it did not run. */
  said: string;
};

function call(env: NodeJS.ProcessEnv, program: string, args: string[], input?: string): Promise<Called> {
  return new Promise((resolve) => {
    const child = execFile(program, args, { env, timeout: 20_000 }, (error, text, stderr) => {
      const code = error?.code;
      const said = stderr.trim() || (typeof code === 'number' ? '' : (error?.message ?? ''));
      resolve({ failed: error !== null, code, text, said });
    });
    child.stdin?.on('error', () => {}); // it has ended already, as `resolve` reports
    child.stdin?.end(input);
  });
}
