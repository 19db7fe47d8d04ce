/** Encryption at rest for what must be read back: webhook secrets and signing keys. AES-256-GCM under `SECRETS_KEY`. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** `purpose` is bound to the ciphertext, so that one kind of secret cannot be passed off as another. */
export type Seal = {
  seal(plaintext: string, purpose: string): Buffer;
  /** @throws when the bytes were made under another key or purpose, or were changed. */
  open(sealed: Uint8Array, purpose: string): string;
};

const version = 1;
const ivBytes = 12;
const tagBytes = 16;

/** Sealed bytes are: version (1), nonce (12), tag (16), ciphertext. */
export function makeSeal(key: Buffer): Seal {
  return {
    seal(plaintext, purpose) {
      const iv = randomBytes(ivBytes);
      const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(purpose));
      const ciphertext = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()]);
      return Buffer.concat([Buffer.of(version), iv, cipher.getAuthTag(), ciphertext]);
    },
    open(sealed, purpose) {
      const bytes = Buffer.from(sealed);
      if (bytes[0] !== version) throw new Error(`sealed bytes of unknown version ${bytes[0]}`);
      const iv = bytes.subarray(1, 1 + ivBytes);
      const tag = bytes.subarray(1 + ivBytes, 1 + ivBytes + tagBytes);
      const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: tagBytes })
        .setAAD(Buffer.from(purpose))
        .setAuthTag(tag);
      return decipher.update(bytes.subarray(1 + ivBytes + tagBytes), undefined, 'utf8') + decipher.final('utf8');
    },
  };
}
