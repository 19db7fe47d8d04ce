/** Signatures of a delivery: GitHub's and, for `whsec_` secrets, Standard Webhooks' (docs/reference/delivery.md). */
import { createHmac, createSecretKey, type Hmac, type KeyObject } from 'node:crypto';
import { inSlices, inTurn } from './large-bodies.ts';

export type SigningKeys = {
  /** The secret's UTF-8 bytes. */
  hub: KeyObject;
  /** The bytes that a `whsec_` secret encodes; null for any other secret. */
  standard: KeyObject | null;
};

/** Both schemes use one configured string: X-Hub-* is keyed with its literal bytes, webhook-signature with the decoded ones. */
export function makeKeys(secret: string): SigningKeys {
  return { hub: createSecretKey(Buffer.from(secret, 'utf8')), standard: standardKey(secret) };
}

export type Signatures = { sha1: string; sha256: string; standard: string | null };

/**
 * Signs the body bytes as they go over the wire. `id` and `timestamp` (Unix seconds) are those of the headers `webhook-id` and
 * `webhook-timestamp`, which only the Standard signature covers. With two secrets, GitHub's headers hold a single signature and use the new
 * one, while `webhook-signature` is a list and carries both.
 */
export async function sign(
  keys: SigningKeys,
  body: Buffer,
  id: string,
  timestamp: string,
  previous: SigningKeys | null = null,
): Promise<Signatures> {
  const standard = [keys.standard, previous?.standard ?? null].flatMap((key) =>
    key ? [createHmac('sha256', key).update(`${id}.${timestamp}.`)] : [],
  );
  const isLarge = body.length > sliceBytes;
  const hub = isLarge ? await largeHubSignatures(keys.hub, body) : hubSignatures(keys.hub, body);
  if (!isLarge) for (const hmac of standard) hmac.update(body);
  else if (standard.length > 0) await inTurn(() => updateInSlices(standard, body));
  return {
    ...hub,
    standard: standard.length === 0 ? null : standard.map((hmac) => `v1,${hmac.digest('base64')}`).join(' '),
  };
}

type HubSignatures = Pick<Signatures, 'sha1' | 'sha256'>;

function hubSignatures(key: KeyObject, body: Buffer): HubSignatures {
  return hubTexts(createHmac('sha1', key).update(body), createHmac('sha256', key).update(body));
}

const hubTexts = (sha1: Hmac, sha256: Hmac): HubSignatures => ({
  sha1: `sha1=${sha1.digest('hex')}`,
  sha256: `sha256=${sha256.digest('hex')}`,
});

/** Signatures of large bodies still in memory: hooks in one place often share a secret. */
const known = new WeakMap<Buffer, { key: KeyObject; signatures: Promise<HubSignatures> }[]>();

function largeHubSignatures(key: KeyObject, body: Buffer): Promise<HubSignatures> {
  const ofBody = known.get(body) ?? [];
  if (ofBody.length === 0) known.set(body, ofBody);
  const same = ofBody.find((one) => one.key.equals(key));
  if (same) return same.signatures;
  const [sha1, sha256] = [createHmac('sha1', key), createHmac('sha256', key)];
  const signatures = inTurn(() => updateInSlices([sha1, sha256], body)).then(() => hubTexts(sha1, sha256));
  ofBody.push({ key, signatures });
  return signatures;
}

/** As many bytes as all signatures together take half a millisecond for. */
const sliceBytes = 128 * 1024;

const updateInSlices = (hmacs: Hmac[], body: Buffer) =>
  inSlices(body, sliceBytes, (slice) => {
    for (const hmac of hmacs) hmac.update(slice);
  });

function standardKey(secret: string): KeyObject | null {
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret)?.[1];
  if (encoded === undefined || encoded.length % 4 !== 0) return null;
  const bytes = Buffer.from(encoded, 'base64');
  return bytes.length >= 24 && bytes.length <= 64 ? createSecretKey(bytes) : null;
}
