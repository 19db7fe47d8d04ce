/** Tokens that only we can have issued: an HMAC of what they stand for. */
import { createHmac, timingSafeEqual } from 'node:crypto';

export type Mac = { tokenFor(subject: string): string; matches(subject: string, token: unknown): boolean };

/** The first key makes tokens; those of all keys are accepted. */
export function makeMac(keys: Buffer[]): Mac {
  const tokenUnder = (key: Buffer, subject: string) => createHmac('sha256', key).update(subject).digest('base64url');
  return {
    tokenFor: (subject) => tokenUnder(keys[0]!, subject),
    matches(subject, token) {
      const given = Buffer.from(typeof token === 'string' ? token : '');
      return keys.some((key) => {
        const expected = Buffer.from(tokenUnder(key, subject));
        return expected.length === given.length && timingSafeEqual(expected, given);
      });
    },
  };
}
