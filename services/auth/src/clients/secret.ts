/**
 * Client secrets at rest. They are long and random, so one SHA-256 is enough; a slow hash (argon2 takes 8 ms) would only limit the
 * throughput of the token endpoint.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** 64 characters of base64url, as at Auth0. */
export function makeSecret(): string {
  return randomBytes(48).toString('base64url');
}

export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url');
}

/** Whether the secret is one of the live ones; takes the same time whether or not any matches. */
export function secretMatches(secret: string, hashes: string[]): boolean {
  const actual = Buffer.from(hashSecret(secret));
  let matches = false;
  for (const hash of hashes) {
    const expected = Buffer.from(hash);
    if (expected.length === actual.length && timingSafeEqual(expected, actual)) matches = true;
  }
  return matches;
}
