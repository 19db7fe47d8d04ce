/** Signatures of a delivery: GitHub's and, for `whsec_` secrets, Standard Webhooks' (docs/reference/delivery.md). */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';

export type SigningKeys = {
  /** The secret's UTF-8 bytes. */
  hub: KeyObject;
  /** The bytes that a `whsec_` secret stands for; null for any other secret. */
  standard: KeyObject | null;
};

/** Both receivers work from one configured string: X-Hub-* is keyed with its literal bytes, webhook-signature with the decoded ones. */
export function makeKeys(secret: string): SigningKeys {
  return { hub: createSecretKey(Buffer.from(secret, 'utf8')), standard: standardKey(secret) };
}

export type Signatures = { sha1: string; sha256: string; standard: string | null };

/**
 * Signs the body bytes as they go over the wire. `id` and `timestamp` (Unix seconds) are those of the headers `webhook-id` and
 * `webhook-timestamp`, which only the Standard signature covers.
 */
export function sign(keys: SigningKeys, body: Buffer, id: string, timestamp: string): Signatures {
  return {
    sha1: `sha1=${createHmac('sha1', keys.hub).update(body).digest('hex')}`,
    sha256: `sha256=${createHmac('sha256', keys.hub).update(body).digest('hex')}`,
    standard:
      keys.standard &&
      `v1,${createHmac('sha256', keys.standard).update(`${id}.${timestamp}.`).update(body).digest('base64')}`,
  };
}

function standardKey(secret: string): KeyObject | null {
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret)?.[1];
  if (encoded === undefined || encoded.length % 4 !== 0) return null;
  const bytes = Buffer.from(encoded, 'base64');
  return bytes.length >= 24 && bytes.length <= 64 ? createSecretKey(bytes) : null;
}
