/**
 * Signs cookies as `keygrip` does, which Koa would make anew for each request: HMAC-SHA-1 in base64url. With the key prepared once
 * and one constant-time comparison, where keygrip takes two HMACs more to compare, at a third of the CPU.
 */
import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto';

export type CookieKeys = {
  sign(cookie: string): string;
  verify(cookie: string, signature: string): boolean;
  /** 0 when it is ours, which is the one key; -1 otherwise. */
  index(cookie: string, signature: string): number;
};

export function makeCookieKeys(secret: Buffer): CookieKeys {
  // As text: that is how keygrip was given it, and people stay logged in.
  const key = createSecretKey(secret.toString('base64url'), 'utf8');
  const sign = (cookie: string) => createHmac('sha1', key).update(cookie).digest('base64url');
  const verify = (cookie: string, signature: string) => {
    const [expected, actual] = [Buffer.from(sign(cookie)), Buffer.from(signature)];
    return expected.length === actual.length && timingSafeEqual(expected, actual);
  };
  return { sign, verify, index: (cookie, signature) => (verify(cookie, signature) ? 0 : -1) };
}
