/**
 * Passwords: argon2id with 19 MiB, two passes and a parallelism of one (OWASP’s minimum; 8 ms here). Hashing shares libuv’s few
 * threads with token signing, so one hash runs at a time. The others wait in turn, by network and by account; beyond a limit,
 * logins are refused rather than tokens (turns.ts).
 */
import { hash, verify } from '@node-rs/argon2';
import { importedMatches } from './imported-password.ts';
import { type Asker, makeTurns } from './turns.ts';

export { TooBusy } from './turns.ts';

// argon2id is the library's default.
const options = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
const prefix = `$argon2id$v=19$m=${options.memoryCost},t=${options.timeCost},p=${options.parallelism}$`;
// Two seconds of work in all, at most a quarter of it for one network.
const turns = makeTurns({ running: 1, perNetwork: 64, waiting: 256 });
/** For passwords set outside of a login: by an administrator or the seed. */
const ourselves: Asker = { network: 'ourselves', account: '' };
/** Longer input is refused before it is hashed. */
export const passwordMaxBytes = 1_024;

// Made once, from a random password: checking an unknown account takes as long as checking a wrong password.
let dummyHash: Promise<string> | undefined;

/** @throws TooBusy */
export function hashPassword(password: string, asker = ourselves): Promise<string> {
  return turns.take(asker, () => hash(normalize(password), options));
}

/**
 * Whether the password matches the hash. Without a hash (no such account, or an account without a password) it takes as long and
 * answers false. @throws TooBusy
 */
export async function passwordMatches(
  password: string,
  passwordHash: string | null | undefined,
  asker = ourselves,
): Promise<boolean> {
  if (Buffer.byteLength(password) > passwordMaxBytes) return false;
  dummyHash ??= hash('a password nobody has', options);
  const against = passwordHash ?? (await dummyHash);
  const matches = await turns.take(asker, () =>
    isOurs(against)
      ? verify(against, normalize(password))
      : // As it was typed: the system that hashed it may not have normalized it.
        importedMatches(against, password),
  );
  return matches && passwordHash != null;
}

/** Whether the hash has our own form and costs; any other is replaced when its owner signs in. */
export const isOurs = (passwordHash: string): boolean => passwordHash.startsWith(prefix);

/** The same characters typed on another keyboard must match. */
function normalize(password: string): string {
  return password.normalize('NFKC');
}
