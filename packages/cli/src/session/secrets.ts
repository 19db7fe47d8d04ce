/**
 * A profile's secrets: in the system's keyring, through the systems' own programs (libsecret's `secret-tool`, macOS's `security`), which read
 * them from standard input, so that they appear in no process list; otherwise in a file that only the owner can read.
 */

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import path from 'node:path';
import { configFolder, readPrivate, removePrivate, writePrivate } from './private-file.ts';
import type { Profile } from './profiles.ts';

export type Secrets = {
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
  if (store !== 'file' && (await keyring(env)?.write(profile, text))) return 'keyring';
  writePrivate(secretsFile(env, profile), text);
  return 'file';
}

export async function readSecrets(env: NodeJS.ProcessEnv, profile: string, store: Store): Promise<Secrets> {
  const text = store === 'keyring' ? await keyring(env)?.read(profile) : readPrivate(secretsFile(env, profile));
  try {
    return JSON.parse(text || '{}') as Secrets;
  } catch {
    return {}; // damaged: as if nobody were signed in
  }
}

export async function forgetSecrets(env: NodeJS.ProcessEnv, profile: string): Promise<void> {
  await keyring(env)?.remove(profile);
  removePrivate(secretsFile(env, profile));
}

/** A profile's name may be anything, such as a host with a port. */
function secretsFile(env: NodeJS.ProcessEnv, profile: string): string {
  const name = createHash('sha256').update(profile).digest('hex').slice(0, 16);
  return path.join(configFolder(env), `secrets-${name}.json`);
}

type Keyring = {
  write(account: string, text: string): Promise<boolean>;
  read(account: string): Promise<string>;
  remove(account: string): Promise<void>;
};

function keyring(env: NodeJS.ProcessEnv): Keyring | undefined {
  if (env.GATEPOST_NO_KEYRING) return undefined;
  if (process.platform === 'darwin') return macKeyring(env);
  return env.DBUS_SESSION_BUS_ADDRESS ? libsecret(env) : undefined;
}

const service = 'gatepost';

const libsecret = (env: NodeJS.ProcessEnv): Keyring => ({
  async write(account, text) {
    const names = ['store', `--label=gatepost: ${account}`, 'service', service, 'account', account];
    return (await call(env, 'secret-tool', names, text)) !== undefined;
  },
  read: async (account) => (await call(env, 'secret-tool', ['lookup', 'service', service, 'account', account])) ?? '',
  remove: async (account) => void (await call(env, 'secret-tool', ['clear', 'service', service, 'account', account])),
});

/** `security -i` takes whole commands from standard input; base64 needs no quoting. */
const macKeyring = (env: NodeJS.ProcessEnv): Keyring => ({
  async write(account, text) {
    const secret = Buffer.from(text).toString('base64');
    const command = `add-generic-password -U -s ${service} -a ${encodeURIComponent(account)} -w ${secret}\n`;
    return (await call(env, 'security', ['-i'], command)) !== undefined && (await this.read(account)) === text;
  },
  async read(account) {
    const names = ['find-generic-password', '-s', service, '-a', encodeURIComponent(account), '-w'];
    return Buffer.from((await call(env, 'security', names))?.trim() ?? '', 'base64').toString();
  },
  remove: async (account) =>
    void (await call(env, 'security', ['delete-generic-password', '-s', service, '-a', encodeURIComponent(account)])),
});

/** The program's output; undefined: it does not exist, or it failed. */
function call(env: NodeJS.ProcessEnv, program: string, args: string[], input?: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = execFile(program, args, { env, timeout: 20_000 }, (error, stdout) =>
      resolve(error ? undefined : stdout),
    );
    child.stdin?.on('error', () => {}); // it has ended already, as `resolve` reports
    child.stdin?.end(input);
  });
}
