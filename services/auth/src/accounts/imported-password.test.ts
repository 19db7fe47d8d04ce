import { createHash, createHmac, pbkdf2Sync, randomBytes, scryptSync } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { hash as argon2 } from '@node-rs/argon2';
import {
  type CustomHash,
  customHash,
  importedMatches,
  storedHash,
  storedPhc,
  UnusableHash,
} from './imported-password.ts';

const password = 'pässword of 8';
const salt = randomBytes(16);
const hex = (bytes: Buffer) => bytes.toString('hex');
const digest = (name: string, text: Buffer) => createHash(name).update(text).digest();
const typed = Buffer.from(password);
const phcBase64 = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');

const forms: Record<string, CustomHash> = {
  'MD5 in hex, without a salt': { algorithm: 'md5', hash: { value: hex(digest('md5', typed)), encoding: 'hex' } },
  'SHA-1 in base64, the salt before': {
    algorithm: 'sha1',
    hash: { value: digest('sha1', Buffer.concat([salt, typed])).toString('base64'), encoding: 'base64' },
    salt: { value: hex(salt), encoding: 'hex' },
  },
  'SHA-256, the salt behind': {
    algorithm: 'sha256',
    hash: { value: hex(digest('sha256', Buffer.concat([typed, Buffer.from('grains')]))), encoding: 'hex' },
    salt: { value: 'grains', position: 'suffix' },
  },
  'SHA-512 of UTF-16': {
    algorithm: 'sha512',
    hash: { value: hex(digest('sha512', Buffer.from(password, 'utf16le'))), encoding: 'hex' },
    password: { encoding: 'utf16le' },
  },
  'an HMAC': {
    algorithm: 'hmac',
    hash: {
      value: createHmac('sha256', 'the key')
        .update(Buffer.concat([salt, typed]))
        .digest('base64'),
      encoding: 'base64',
      digest: 'sha256',
      key: { value: 'the key', encoding: 'utf8' },
    },
    salt: { value: salt.toString('base64'), encoding: 'base64' },
  },
  PBKDF2: {
    algorithm: 'pbkdf2',
    hash: {
      value: `$pbkdf2-sha512$i=1000,l=64$${phcBase64(salt)}$${phcBase64(pbkdf2Sync(password, salt, 1_000, 64, 'sha512'))}`,
      encoding: 'utf8',
    },
  },
  scrypt: {
    algorithm: 'scrypt',
    hash: { value: hex(scryptSync(password, salt, 64, { cost: 4_096 })), encoding: 'hex' },
    salt: { value: hex(salt), encoding: 'hex' },
    cost: 4_096,
    keylen: 64,
  },
  "LDAP's salted SHA": {
    algorithm: 'ldap',
    hash: { value: `{SSHA}${Buffer.concat([digest('sha1', Buffer.concat([typed, salt])), salt]).toString('base64')}` },
  },
  // Made by glibc's crypt.
  bcrypt: { algorithm: 'bcrypt', hash: { value: '$2b$04$AVj5hB6kw0nLp63jncP7/.izjwNUo2YDXH5ezfPcfcfOc7ptgzjIu' } },
};

describe('a password hash imported from another system', () => {
  test.each(Object.entries(forms))('in the form %s matches its password and no other', async (_, form) => {
    const kept = storedHash(customHash.parse(form));
    expect(await importedMatches(kept, password)).toBe(true);
    expect(await importedMatches(kept, 'another')).toBe(false);
  });

  test('in argon2 matches with cost parameters of its own', async () => {
    const kept = storedPhc(await argon2(password, { memoryCost: 8_192, timeCost: 3 }));
    expect(await importedMatches(kept, password)).toBe(true);
    expect(await importedMatches(kept, 'another')).toBe(false);
  });
});

const argon2Of = (parameters: string, salt = 'AAAAAAAAAAAAAAAAAAAAAA', made = 'AAAAAAAAAAAAAAAAAAAAAA') =>
  ({ algorithm: 'argon2', hash: { value: `$argon2id$v=19$${parameters}$${salt}$${made}` } }) as const;
const base64 = scryptSync(password, salt, 32).toString('base64');

test.each<[string, CustomHash]>([
  // Anything would be derived into nothing, and match.
  ['PBKDF2 with an empty hash', { algorithm: 'pbkdf2', hash: { value: '$pbkdf2-sha256$i=1000$AAAA$=' } }],
  ['scrypt in base64 that is said to be hex', { algorithm: 'scrypt', hash: { value: `zz${base64}`, encoding: 'hex' } }],
  ['scrypt in base64 without its encoding', { algorithm: 'scrypt', hash: { value: base64 } }],
  [
    'scrypt of one byte, which other passwords would match',
    { algorithm: 'scrypt', hash: { value: 'ab', encoding: 'hex' } },
  ],
  ['PBKDF2 of three bytes', { algorithm: 'pbkdf2', hash: { value: '$pbkdf2-sha256$i=1000$AAAA$AAAA' } }],
  ['a digest cut off', { algorithm: 'sha256', hash: { value: 'abcd', encoding: 'hex' } }],
  // Their check would fail with an error, each time that somebody signs in.
  ['bcrypt with too few rounds', { algorithm: 'bcrypt', hash: { value: `$2b$03$${'a'.repeat(53)}` } }],
  ['PBKDF2 of no rounds', { algorithm: 'pbkdf2', hash: { value: `$pbkdf2-sha256$i=0$AAAA$${'A'.repeat(43)}` } }],
  ['argon2 of no passes', argon2Of('m=64,t=0,p=1')],
  ['argon2 of no lanes', argon2Of('m=64,t=1,p=0')],
  ['argon2 with too little memory for its lanes', argon2Of('m=64,t=1,p=9')],
  ['argon2 with too short a salt', argon2Of('m=64,t=1,p=1', 'AAAA')],
  ['argon2 of one byte', argon2Of('m=64,t=1,p=1', undefined, 'AA')],
  ['bcrypt that costs too much', { algorithm: 'bcrypt', hash: { value: `$2b$31$${'a'.repeat(53)}` } }],
  [
    'scrypt that costs too much',
    { algorithm: 'scrypt', hash: { value: 'aa', encoding: 'hex' }, cost: 2 ** 20, blockSize: 8 },
  ],
  ['PBKDF2 that costs too much', { algorithm: 'pbkdf2', hash: { value: '$pbkdf2-sha512$i=90000000,l=64$AAAA$AAAA' } }],
  [
    'argon2 that costs too much',
    { algorithm: 'argon2', hash: { value: '$argon2id$v=19$m=1048576,t=3,p=1$AAAA$AAAA' } },
  ],
  ['an unknown digest', { algorithm: 'md4', hash: { value: 'aa', encoding: 'hex' } }],
  ['bcrypt under the name of argon2', { algorithm: 'argon2', hash: { value: `$2b$10$${'a'.repeat(53)}` } }],
  ['PBKDF2 in an unknown form', { algorithm: 'pbkdf2', hash: { value: 'sha1:64000:18:salt:hash' } }],
  ['an HMAC without its key', { algorithm: 'hmac', hash: { value: 'aa', encoding: 'hex', digest: 'sha256' } }],
  ['LDAP of an unknown scheme', { algorithm: 'ldap', hash: { value: '{CRYPT}xyz' } }],
])('is refused: %s', (_, form) => {
  expect(() => storedHash(form)).toThrow(UnusableHash);
});
