/** Where the user is signed in, and as whom: `profiles.json`, which contains no secret. */
import { createHash } from 'node:crypto';
import path from 'node:path';
import { Problem } from '../problem.ts';
import { withLock } from './lock.ts';
import { configFolder, readPrivate, writePrivate } from './private-file.ts';

export type Profile = {
  /** Without a trailing slash. */
  api: string;
  issuer: string;
  /** The audience of access tokens for the API. */
  audience: string;
  clientId: string;
  /** A person by the device flow, a machine by its secret, or a given token. */
  kind: 'person' | 'machine' | 'token';
  subject: string;
  /** Where its secrets are stored. */
  store: 'keyring' | 'file';
};

export type Profiles = { current?: string; profiles: Record<string, Profile> };

export function readProfiles(env: NodeJS.ProcessEnv): Profiles {
  const file = profilesFile(env);
  const text = readPrivate(file);
  if (text === undefined) return { profiles: Object.create(null) };
  try {
    const { profiles, ...rest } = JSON.parse(text) as Profiles; // nobody else may write it
    // Without a prototype, as a profile may have any name, such as `constructor`.
    if (typeof profiles === 'object' && profiles !== null)
      return { ...rest, profiles: Object.assign(Object.create(null), profiles) };
  } catch {
    // Reported below.
  }
  throw new Problem('failed', `${file} is damaged`, `Remove it and sign in again: rm '${file}'`);
}

/**
 * One process at a time, since all sign-ins share the file. Not interrupted: their secrets have been kept or forgotten already.
 * @returns what `change` has made of them
 */
export async function changeProfiles(env: NodeJS.ProcessEnv, change: (now: Profiles) => Profiles): Promise<Profiles> {
  return withLock(path.join(configFolder(env), 'lock-profiles'), undefined, async () => {
    const changed = change(readProfiles(env));
    writePrivate(profilesFile(env), `${JSON.stringify(changed, null, 2)}\n`);
    return changed;
  });
}

/** Of a profile: whoever signs in or out, or renews its tokens, holds it. */
export function lockFile(env: NodeJS.ProcessEnv, name: string): string {
  return path.join(configFolder(env), `lock-${createHash('sha256').update(name).digest('hex').slice(0, 16)}`);
}

const profilesFile = (env: NodeJS.ProcessEnv) => path.join(configFolder(env), 'profiles.json');
