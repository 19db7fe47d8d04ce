/** Keys that all processes must share and that are never stored: derived from SECRETS_KEY, one per purpose. */
import { hkdfSync } from 'node:crypto';

/** 32 bytes. */
export function deriveKey(secretsKey: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secretsKey, 'gatepost', purpose, 32));
}
