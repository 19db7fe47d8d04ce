/** Where the user is signed in, and as whom: `profiles.json`, which contains no secret. */
import { createHash } from 'node:crypto';
import path from 'node:path';
import { Problem } from '../problem.ts';
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
  if (text === undefined) return { profiles: {} };
  try {
    return JSON.parse(text) as Profiles; // nobody else may write it
  } catch {
    throw new Problem('failed', `${file} is damaged`, `Remove it and sign in again: rm '${file}'`);
  }
}

export function writeProfiles(env: NodeJS.ProcessEnv, profiles: Profiles): void {
  writePrivate(profilesFile(env), `${JSON.stringify(profiles, null, 2)}\n`);
}

/** Of a profile: whoever signs in or out, or renews its tokens, holds it. */
export function lockFile(env: NodeJS.ProcessEnv, name: string): string {
  return path.join(configFolder(env), `lock-${createHash('sha256').update(name).digest('hex').slice(0, 16)}`);
}

const profilesFile = (env: NodeJS.ProcessEnv) => path.join(configFolder(env), 'profiles.json');
