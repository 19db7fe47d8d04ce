/** The signatures of a delivery, as the dispatcher makes them. */
import { createHmac } from 'node:crypto';

/** The key of a `whsec_` secret: base64 of 24 to 64 bytes. Null: any other secret makes GitHub's signatures only. */
export function standardKey(secret: string): Buffer | null {
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret)?.[1] ?? '';
  const key = Buffer.from(encoded, 'base64');
  return encoded.length % 4 === 0 && key.length >= 24 && key.length <= 64 ? key : null;
}

/** GitHub's two, plus Standard Webhooks' if there is a `key`; `id` and `time` are those of `webhook-id` and `webhook-timestamp`. */
export function signatures(
  secret: string,
  body: Buffer,
  { id, time }: { id: string; time: string },
  key = standardKey(secret),
): Record<string, string> {
  const hmac = (algorithm: string) => `${algorithm}=${createHmac(algorithm, secret).update(body).digest('hex')}`;
  const github = { 'X-Hub-Signature': hmac('sha1'), 'X-Hub-Signature-256': hmac('sha256') };
  if (!key) return github;
  const standard = createHmac('sha256', key).update(`${id}.${time}.`).update(body).digest('base64');
  return { ...github, 'webhook-signature': `v1,${standard}` };
}
