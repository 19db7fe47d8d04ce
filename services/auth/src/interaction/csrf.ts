/** The token that binds a form to the interaction it was shown in. Origin checks alone would not do: with `no-referrer` browsers send `Origin: null`. */
import { createHmac, timingSafeEqual } from 'node:crypto';

export type Csrf = { tokenFor(subject: string): string; matches(subject: string, token: unknown): boolean };

export function makeCsrf(key: Buffer): Csrf {
  const tokenFor = (subject: string) => createHmac('sha256', key).update(subject).digest('base64url');
  return {
    tokenFor,
    matches(subject, token) {
      const expected = Buffer.from(tokenFor(subject));
      const given = Buffer.from(typeof token === 'string' ? token : '');
      return expected.length === given.length && timingSafeEqual(expected, given);
    },
  };
}
