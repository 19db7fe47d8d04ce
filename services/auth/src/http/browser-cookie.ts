/**
 * A cookie that tells this browser from others while a sign-in by mail is in progress. It is Lax: no image, frame or form of another site
 * sends it.
 */
import { randomBytes } from 'node:crypto';
import type { Response } from 'express';

export type BrowserCookie = {
  /** The browser’s identifier, from its `Cookie` header. */
  of(cookieHeader: string | undefined): string | undefined;
  /** The same; a browser without one gets one now, for ten minutes. */
  ensure(cookieHeader: string | undefined, response: Response): string;
};

const ttlMs = 600_000;

export function makeBrowserCookie(issuer: string): BrowserCookie {
  const secure = issuer.startsWith('https:');
  const name = secure ? '__Host-link' : '_link';
  const of = (header = '') => {
    const pair = header.split('; ').find((text) => text.startsWith(`${name}=`));
    return pair?.slice(name.length + 1) || undefined;
  };
  return {
    of,
    ensure(header, response) {
      const value = of(header) ?? randomBytes(16).toString('base64url');
      response.cookie(name, value, { httpOnly: true, sameSite: 'lax', secure, maxAge: ttlMs });
      return value;
    },
  };
}
