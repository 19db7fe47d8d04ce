/** Keys that every process must share and none must store: derived from SECRETS_KEY, one a purpose. */
import { hkdfSync } from 'node:crypto';

/** 32 bytes. */
export function deriveKey(secretsKey: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secretsKey, 'gatepost', purpose, 32));
}
