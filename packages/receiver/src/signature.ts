/**
 * GitHub's signature, `X-Hub-Signature-256` (docs.github.com, "Validating webhook deliveries"), and for a `whsec_…` secret that of Standard
 * Webhooks, which also covers guid and time. `X-Hub-Signature`, which uses SHA-1, is never enough.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { Refused } from './refused.ts';

/** Reads a header by its lower-case name; the first of several values. */
export type ReadHeader = (name: string) => string | null | undefined;

/** How far a signature's time may be from ours, as in the Standard Webhooks libraries. */
const toleranceSeconds = 300;

/** Several during a change of the secret. */
export function secretsOf(secret: string | string[]): string[] {
  const secrets = [secret].flat();
  if (secrets.length > 0 && secrets.every((one) => typeof one === 'string' && one !== '')) return secrets;
  throw new TypeError('A receiver needs a secret that is not empty.');
}

/**
 * Throws `Refused` unless one of the secrets signed the body. With a `whsec_…` secret only `webhook-signature` counts: if the weaker one
 * counted too, anyone who recorded a delivery could send it again under another guid. Every secret is tried, so that the time taken does not
 * tell which one it was. @returns those that signed it
 */
export function verifySignature(
  secret: string | string[],
  read: ReadHeader,
  body: Uint8Array,
  now = new Date(),
): string[] {
  const secrets = secretsOf(secret);
  const refusals = secrets.map((one) => {
    const key = standardKey(one);
    return key ? standardRefusal(key, read, body, now) : hubRefusal(one, read, body);
  });
  const signers = secrets.filter((_, index) => refusals[index] === null);
  if (signers.length > 0) return signers;
  throw refusals.find((one) => one?.code === 'stale') ?? refusals[0];
}

function hubRefusal(secret: string, read: ReadHeader, body: Uint8Array): Refused | null {
  const given = read('x-hub-signature-256');
  if (!given) return new Refused('no_signature', 'There is no X-Hub-Signature-256: has the hook a secret?');
  if (isEqual(given, `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`)) return null;
  return new Refused('wrong_signature', 'X-Hub-Signature-256 is that of another body or secret.');
}

function standardRefusal(key: Buffer, read: ReadHeader, body: Uint8Array, now: Date): Refused | null {
  const [given, id, time] = [read('webhook-signature'), read('webhook-id'), read('webhook-timestamp')];
  if (!given || !id || !time)
    return new Refused('no_signature', 'webhook-signature, -id or -timestamp is missing: has the hook this secret?');
  const expected = `v1,${createHmac('sha256', key).update(`${id}.${time}.`).update(body).digest('base64')}`;
  if (!given.split(' ').some((one) => isEqual(one, expected)) || (read('x-github-delivery') ?? id) !== id)
    return new Refused('wrong_signature', 'webhook-signature is that of another body, guid, time or secret.');
  if (Math.abs(now.getTime() / 1000 - Number(time)) <= toleranceSeconds) return null;
  return new Refused('stale', `Signed over ${toleranceSeconds} s from now: is your clock right, or was it recorded?`);
}

/** Base64 of 24 to 64 bytes, as the specification requires; any other secret is a GitHub one. */
export function standardKey(secret: string): Buffer | null {
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret)?.[1] ?? '';
  const key = Buffer.from(encoded, 'base64');
  return encoded.length % 4 === 0 && key.length >= 24 && key.length <= 64 ? key : null;
}

function isEqual(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
