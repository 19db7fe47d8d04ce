import { Refused } from './refused.ts';
import { type ReadHeader, verifySignature } from './signature.ts';

/** One verified delivery. */
export type Delivery = {
  /** The event's id (`X-GitHub-Delivery`), the same in each attempt and redelivery. */
  guid: string;
  /** The event's type: `push`, `issues`, … */
  event: string;
  /** The payload's `action`, if it has one. */
  action: string | undefined;
  hookId: string | undefined;
  /** Counts the hook's events: a missing number is an event that did not arrive. GitHub does not send it. */
  sequence: number | undefined;
  payload: Record<string, unknown>;
  /** The bytes as received, which are the signed ones. */
  body: Uint8Array;
};

/**
 * The core of every receiver, for frameworks without one: checks the signature, then reads the body. Throws `Refused`. GitHub's signature covers
 * only the body, so guid, event and hook id are only as trustworthy as the connection; that of a `whsec_…` secret covers the guid too.
 */
export function readDelivery(secret: string | string[], read: ReadHeader, body: Uint8Array): Delivery {
  verifySignature(secret, read, body);
  return readVerified(read, body);
}

export function readVerified(read: ReadHeader, body: Uint8Array): Delivery {
  const guid = read('x-github-delivery');
  const event = read('x-github-event');
  if (!guid || !event) throw new Refused('bad_delivery', 'X-GitHub-Delivery or X-GitHub-Event is missing.');
  const payload = parse(read('content-type'), body);
  const action = typeof payload.action === 'string' ? payload.action : undefined;
  const sequence = Number(read('x-gatepost-sequence')) || undefined;
  return { guid, event, action, hookId: read('x-github-hook-id') ?? undefined, sequence, payload, body };
}

function parse(contentType: string | null | undefined, body: Uint8Array): Record<string, unknown> {
  const type = contentType?.split(';')[0]?.trim().toLowerCase();
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();
  if (type === 'application/json') return parseObject(text);
  if (type === 'application/x-www-form-urlencoded') return parseObject(new URLSearchParams(text).get('payload') ?? '');
  throw new Refused('bad_content_type', 'Deliveries are application/json or application/x-www-form-urlencoded.');
}

function parseObject(json: string): Record<string, unknown> {
  try {
    const value = JSON.parse(json);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {}
  throw new Refused('bad_delivery', 'The payload is not a JSON object.');
}
