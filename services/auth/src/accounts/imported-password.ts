/**
 * Passwords hashed by another system, in the forms that Auth0's import takes:
 * https://auth0.com/docs/manage-users/user-migration/bulk-user-import-database-schema-and-examples. A sign-in replaces such a hash with our own.
 */
import { createHash, createHmac, getHashes, pbkdf2, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { verify as verifyArgon2 } from '@node-rs/argon2';
import { z } from 'zod';

const encoding = z.enum(['base64', 'hex', 'utf8']);
const bytes = z.strictObject({ value: z.string().max(4_096), encoding: encoding.optional() });
const digests = ['md5', 'sha1', 'sha256', 'sha512'] as const;
/** HMACs may also use these; a digest that this machine's OpenSSL lacks is refused. */
const hmacDigests = ['md4', 'md5', 'ripemd160', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512', 'whirlpool'] as const;

/** `custom_password_hash` of an imported user. */
export const customHash = z.strictObject({
  algorithm: z.enum(['argon2', 'bcrypt', 'hmac', 'ldap', 'md4', ...digests, 'pbkdf2', 'scrypt']),
  hash: z.strictObject({
    value: z.string().min(1).max(4_096),
    encoding: encoding.optional(),
    digest: z.enum(hmacDigests).optional(),
    key: bytes.optional(),
  }),
  salt: z.strictObject({ ...bytes.shape, position: z.enum(['prefix', 'suffix']).optional() }).optional(),
  password: z.strictObject({ encoding: z.enum(['ascii', 'utf8', 'utf16le', 'ucs2', 'latin1', 'binary']) }).optional(),
  keylen: z.int().min(16).max(256).optional(),
  cost: z
    .int()
    .min(2)
    .max(2 ** 20)
    .optional(),
  blockSize: z.int().min(1).max(64).optional(),
  parallelization: z.int().min(1).max(16).optional(),
});
export type CustomHash = z.infer<typeof customHash>;

/** The most that checking one password may cost: more would keep others from signing in. */
const memoryMaxBytes = 256 * 1024 * 1024;
const bcryptCostMin = 4;
const bcryptCostMax = 14;
const argon2PassesMax = 10;
const pbkdf2RoundsMax = 2_000_000;
/** The derived key is as long as the stored one: many passwords match a short one, and all match an empty one. */
const derivedMinBytes = 16;

/** What is stored of a hash that is not in bcrypt's or argon2's own text form. */
type StoredHash = {
  /** The resulting hash, base64. */
  hash: string;
  salt: string;
  password: BufferEncoding;
} & (
  | { kind: 'digest'; digest: string; position: 'prefix' | 'suffix' }
  | { kind: 'hmac'; digest: string; key: string; position: 'prefix' | 'suffix' }
  | { kind: 'pbkdf2'; digest: string; rounds: number }
  | { kind: 'scrypt'; cost: number; blockSize: number; parallelization: number }
);

/** Why a hash cannot be used. */
export class UnusableHash extends Error {}

/** The text to store for a hash in bcrypt's or argon2's own form. @throws UnusableHash */
export function storedPhc(value: string): string {
  const bcrypt = /^\$2[abxy]\$(\d\d)\$[./A-Za-z0-9]{53}$/.exec(value);
  if (bcrypt) {
    const cost = Number(bcrypt[1]);
    if (cost < bcryptCostMin || cost > bcryptCostMax)
      throw new UnusableHash(`a bcrypt hash has a cost of ${bcryptCostMin} to ${bcryptCostMax}`);
    return value;
  }
  const argon2 =
    /^\$argon2(?:id|i|d)\$(?:v=(?:16|19)\$)?m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/.exec(value);
  if (!argon2) throw new UnusableHash('neither a bcrypt nor an argon2 hash');
  const [memoryKib = 0, passes = 0, lanes = 0] = argon2.slice(1, 4).map(Number);
  if (memoryKib * 1_024 > memoryMaxBytes || passes > argon2PassesMax)
    throw new UnusableHash(`an argon2 hash takes at most 256 MiB and ${argon2PassesMax} passes`);
  // RFC 9106 section 3.1: other values cannot be checked.
  const [salt = '', hash = ''] = argon2.slice(4).map((text) => Buffer.from(text, 'base64'));
  if (passes < 1 || lanes < 1 || memoryKib < 8 * lanes || salt.length < 8 || hash.length < derivedMinBytes)
    throw new UnusableHash('an argon2 hash whose parameters, salt or length are none of argon2');
  return value;
}

/** The text to store for a custom hash. @throws UnusableHash */
export function storedHash(given: CustomHash): string {
  const { algorithm, hash } = given;
  if (algorithm === 'bcrypt' || algorithm === 'argon2') {
    const kept = storedPhc(hash.value);
    if (!kept.startsWith(algorithm === 'bcrypt' ? '$2' : '$argon2'))
      throw new UnusableHash(`not the form of ${algorithm}`);
    return kept;
  }
  const parsed = parse(given);
  const { length } = Buffer.from(parsed.hash, 'base64');
  if (isDerived(parsed) ? length < derivedMinBytes : length !== createHash(parsed.digest).digest().length)
    throw new UnusableHash('the hash is too short, or in another encoding than its own');
  return JSON.stringify(parsed);
}

const isDerived = (kept: StoredHash): kept is Extract<StoredHash, { kind: 'pbkdf2' | 'scrypt' }> =>
  kept.kind === 'pbkdf2' || kept.kind === 'scrypt';

function parse({ algorithm, hash, salt, password, ...rest }: CustomHash): StoredHash {
  const encoded = password?.encoding ?? 'utf8';
  // The text of these two contains what the others have in separate fields.
  if (algorithm === 'pbkdf2') return { password: encoded, ...parsePbkdf2(hash.value) };
  if (algorithm === 'ldap') return { password: encoded, ...parseLdap(hash.value) };
  const common = {
    hash: decode({ value: hash.value, encoding: hash.encoding ?? 'hex' }),
    salt: salt ? decode(salt) : '',
    password: encoded,
  };
  const position = salt?.position ?? 'prefix';
  switch (algorithm) {
    case 'scrypt': {
      const { cost = 16_384, blockSize = 8, parallelization = 1, keylen } = rest;
      if (128 * cost * blockSize > memoryMaxBytes) throw new UnusableHash('an scrypt hash takes at most 256 MiB');
      if ((cost & (cost - 1)) !== 0) throw new UnusableHash('the cost of scrypt is a power of two');
      if (keylen !== undefined && keylen !== Buffer.from(common.hash, 'base64').length)
        throw new UnusableHash('keylen is not the length of the hash');
      return { ...common, kind: 'scrypt', cost, blockSize, parallelization };
    }
    case 'hmac': {
      if (!hash.digest || !hash.key) throw new UnusableHash('hmac takes hash.digest and hash.key');
      return { ...common, kind: 'hmac', digest: known(hash.digest), key: decode(hash.key), position };
    }
    default:
      return { ...common, kind: 'digest', digest: known(algorithm), position };
  }
}

/** `$pbkdf2-sha512$i=100000,l=64$salt$hash`, as Auth0 takes it. */
function parsePbkdf2(value: string) {
  const parts = /^\$pbkdf2-([a-z0-9]+)\$i=(\d+)(?:,l=(\d+))?\$([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]+)$/.exec(value);
  if (!parts) throw new UnusableHash('not of the form $pbkdf2-<digest>$i=<rounds>,l=<length>$<salt>$<hash>');
  const [, digest = '', rounds, , salt = '', hash = ''] = parts;
  if (Number(rounds) < 1 || Number(rounds) > pbkdf2RoundsMax)
    throw new UnusableHash(`pbkdf2 takes 1 to ${pbkdf2RoundsMax} rounds`);
  return { kind: 'pbkdf2' as const, digest: known(digest), rounds: Number(rounds), salt, hash };
}

/** RFC 2307: `{SSHA}` and base64 of the digest, followed by the salt. */
function parseLdap(value: string) {
  const [, scheme = '', encoded = ''] = /^\{(S?(?:MD5|SHA(?:1|256|384|512)?))\}([A-Za-z0-9+/]+=*)$/i.exec(value) ?? [];
  if (scheme === '') throw new UnusableHash('an LDAP hash of the schemes MD5, SHA and their salted forms is known');
  const name = scheme.toLowerCase().replace(/^s(?=md5|sha)/, '');
  const digest = known(name === 'sha' ? 'sha1' : name);
  const decoded = Buffer.from(encoded, 'base64');
  const { length } = createHash(digest).digest();
  if (decoded.length < length) throw new UnusableHash('the LDAP hash is too short');
  const [hash, salt] = [decoded.subarray(0, length), decoded.subarray(length)];
  return {
    kind: 'digest' as const,
    digest,
    hash: hash.toString('base64'),
    salt: salt.toString('base64'),
    position: 'suffix' as const,
  };
}

/** OpenSSL 3 has no MD4 and no Whirlpool unless configured to. */
function known(digest: string): string {
  if (!getHashes().includes(digest)) throw new UnusableHash(`${digest} is not available here`);
  return digest;
}

/** Node decodes malformed text as far as it can and silently drops the rest. @throws UnusableHash */
function decode({ value, encoding = 'utf8' }: z.infer<typeof bytes>): string {
  const isWhole = { utf8: /^/, hex: /^(?:[\da-f]{2})*$/i, base64: /^[\w+/-]*={0,2}$/ }[encoding];
  if (!isWhole.test(value)) throw new UnusableHash(`the hash, its key or its salt is no ${encoding}`);
  return Buffer.from(value, encoding).toString('base64');
}

/** Whether another system's hash is of this password. A text that we did not write never matches. */
export async function importedMatches(kept: string, password: string): Promise<boolean> {
  if (kept.startsWith('$2')) return (await import('@node-rs/bcrypt')).verify(password, kept);
  if (kept.startsWith('$argon2')) return verifyArgon2(kept, password);
  const parsed = JSON.parse(kept) as StoredHash;
  const expected = Buffer.from(parsed.hash, 'base64');
  if (isDerived(parsed) && expected.length < derivedMinBytes) return false;
  const made = await compute(parsed, Buffer.from(password, parsed.password), expected.length);
  return made.length === expected.length && timingSafeEqual(made, expected);
}

async function compute(kept: StoredHash, password: Buffer, length: number): Promise<Buffer> {
  const salt = Buffer.from(kept.salt, 'base64');
  switch (kept.kind) {
    case 'pbkdf2':
      return promisify(pbkdf2)(password, salt, kept.rounds, length, kept.digest);
    case 'scrypt':
      return new Promise((resolve, reject) => {
        const { cost, blockSize, parallelization } = kept;
        const options = { cost, blockSize, parallelization, maxmem: 2 * memoryMaxBytes };
        scrypt(password, salt, length, options, (error, key) => (error ? reject(error) : resolve(key)));
      });
    case 'digest':
    case 'hmac': {
      const hash =
        kept.kind === 'hmac' ? createHmac(kept.digest, Buffer.from(kept.key, 'base64')) : createHash(kept.digest);
      return hash.update(Buffer.concat(kept.position === 'prefix' ? [salt, password] : [password, salt])).digest();
    }
  }
}
