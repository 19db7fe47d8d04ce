/**
 * Passwords: argon2id with 19 MiB, two passes and one lane (OWASP's floor; 8 ms here). Hashing shares libuv's few threads with
 * token signing, so at most `concurrency` run at once and at most `queueMax` wait: beyond that logins are shed, not tokens.
 */
import { hash, verify } from '@node-rs/argon2';

export class TooBusy extends Error {
  override name = 'TooBusy';
}

// argon2id is the library's default.
const options = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
const concurrency = 1;
const queueMax = 64;
/** Longer input is refused before it is hashed. */
export const passwordMaxBytes = 1_024;

// Made once, of a password nobody has: an unknown account costs as much time as a wrong password.
let dummyHash: Promise<string> | undefined;

/** @throws TooBusy */
export function hashPassword(password: string): Promise<string> {
  return inTurn(() => hash(normalize(password), options));
}

/**
 * Whether the password belongs to the hash. Without a hash (no such account, or one without a password) it works as long and
 * answers false. @throws TooBusy
 */
export async function passwordMatches(password: string, passwordHash: string | null | undefined): Promise<boolean> {
  if (Buffer.byteLength(password) > passwordMaxBytes) return false;
  dummyHash ??= hash('a password nobody has', options);
  const against = passwordHash ?? (await dummyHash);
  const matches = await inTurn(() => verify(against, normalize(password)));
  return matches && passwordHash != null;
}

/** The same characters typed on another keyboard are the same password. */
function normalize(password: string): string {
  return password.normalize('NFKC');
}

let running = 0;
const waiting: (() => void)[] = [];

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (running >= concurrency) {
    if (waiting.length >= queueMax) throw new TooBusy('too many passwords are being checked');
    await new Promise<void>((resolve) => waiting.push(resolve));
  } else running += 1;
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next) next();
    else running -= 1;
  }
}
