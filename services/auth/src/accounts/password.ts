/**
 * Passwords: argon2id with 19 MiB, two passes and one lane (OWASP's floor; 8 ms here). Hashing shares libuv's few threads with
 * token signing, so one runs at a time; those that wait take turns, by network and by account, and beyond a bound logins are shed,
 * not tokens (turns.ts).
 */
import { hash, verify } from '@node-rs/argon2';
import { type Asker, makeTurns } from './turns.ts';

export { TooBusy } from './turns.ts';

// argon2id is the library's default.
const options = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
// Two seconds' work altogether, a quarter of it of one network's.
const turns = makeTurns({ running: 1, perNetwork: 64, waiting: 256 });
/** Whose password nobody asked for by name: an administrator's and the seed's. */
const ourselves: Asker = { network: 'ourselves', account: '' };
/** Longer input is refused before it is hashed. */
export const passwordMaxBytes = 1_024;

// Made once, of a password nobody has: an unknown account costs as much time as a wrong password.
let dummyHash: Promise<string> | undefined;

/** @throws TooBusy */
export function hashPassword(password: string, asker = ourselves): Promise<string> {
  return turns.take(asker, () => hash(normalize(password), options));
}

/**
 * Whether the password belongs to the hash. Without a hash (no such account, or one without a password) it works as long and
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
  const matches = await turns.take(asker, () => verify(against, normalize(password)));
  return matches && passwordHash != null;
}

/** The same characters typed on another keyboard are the same password. */
function normalize(password: string): string {
  return password.normalize('NFKC');
}
