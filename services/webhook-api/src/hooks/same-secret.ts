/** Compares two secrets in a time that tells nothing about them. */
import { createHash, timingSafeEqual } from 'node:crypto';

/** null: there is none. */
export function isSameSecret(one: string | null, other: string | null): boolean {
  if (one === null || other === null) return one === other;
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}
