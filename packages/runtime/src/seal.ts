/** Encryption at rest for what must be read back: webhook secrets and signing keys. AES-256-GCM under `SECRETS_KEY`. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** `purpose` is bound to the ciphertext, so that one kind of secret cannot be passed off as another. */
export type Seal = {
  seal(plaintext: string, purpose: string): Buffer;
  /** @throws when the bytes were made under another key or purpose, or were changed. */
  open(sealed: Uint8Array, purpose: string): string;
  /** The same text sealed under the current key; undefined when it is already. @throws like `open`. */
  reseal(sealed: Uint8Array, purpose: string): Buffer | undefined;
};

const version = 1;
const ivBytes = 12;
const tagBytes = 16;

/**
 * Sealed bytes are: version (1), nonce (12), tag (16), ciphertext. `key` seals; what `other` sealed can be opened too, during a key change
 * (docs/operations.md).
 */
export function makeSeal(key: Buffer, other?: Buffer): Seal {
  const seal: Seal['seal'] = (plaintext, purpose) => {
    const iv = randomBytes(ivBytes);
    const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(purpose));
    const ciphertext = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()]);
    return Buffer.concat([Buffer.of(version), iv, cipher.getAuthTag(), ciphertext]);
  };
  const tryOpen = (sealed: Uint8Array, purpose: string): { text: string; isCurrent: boolean } => {
    try {
      return { text: openUnder(key, sealed, purpose), isCurrent: true };
    } catch (error) {
      if (!other) throw error;
      return { text: openUnder(other, sealed, purpose), isCurrent: false };
    }
  };
  return {
    seal,
    open: (sealed, purpose) => tryOpen(sealed, purpose).text,
    reseal(sealed, purpose) {
      const { text, isCurrent } = tryOpen(sealed, purpose);
      return isCurrent ? undefined : seal(text, purpose);
    },
  };
}

function openUnder(key: Buffer, sealed: Uint8Array, purpose: string): string {
  const bytes = Buffer.from(sealed);
  if (bytes[0] !== version) throw new Error(`sealed bytes of unknown version ${bytes[0]}`);
  const iv = bytes.subarray(1, 1 + ivBytes);
  const tag = bytes.subarray(1 + ivBytes, 1 + ivBytes + tagBytes);
  const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: tagBytes })
    .setAAD(Buffer.from(purpose))
    .setAuthTag(tag);
  return decipher.update(bytes.subarray(1 + ivBytes + tagBytes), undefined, 'utf8') + decipher.final('utf8');
}
