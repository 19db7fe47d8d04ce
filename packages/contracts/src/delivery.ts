/** What a delivery is on the wire and in the log (docs/reference/delivery.md). */

/** Names of the request's headers, spelled as GitHub spells them; the log shows them that way. */
export const deliveryHeaders = {
  delivery: 'X-GitHub-Delivery',
  event: 'X-GitHub-Event',
  hookId: 'X-GitHub-Hook-ID',
  targetId: 'X-GitHub-Hook-Installation-Target-ID',
  targetType: 'X-GitHub-Hook-Installation-Target-Type',
  /** Counts the events of the hook. */
  sequence: 'X-Gatepost-Sequence',
  signature: 'X-Hub-Signature',
  signature256: 'X-Hub-Signature-256',
  webhookId: 'webhook-id',
  webhookTimestamp: 'webhook-timestamp',
  webhookSignature: 'webhook-signature',
  /** Only sent while the dispatcher traces. */
  traceparent: 'traceparent',
} as const;

/** A delivery's `status` in the log: `OK`, or GitHub's text for what went wrong (docs/reference/delivery.md). */
export const deliveryStatus = {
  ok: 'OK',
  host: 'Failed to connect to host',
  network: 'Failed to connect to network',
  timeout: 'Timed out',
  certificate: 'Peer certificate cannot be authenticated with given CA certificates',
  response: 'Invalid HTTP response',
} as const;

export type DeliveryStatus = (typeof deliveryStatus)[keyof typeof deliveryStatus];

/** Milliseconds of an attempt's phases; null where a phase did not happen (a reused connection has no `connect`). */
export type DeliveryTimings = {
  dns: number | null;
  connect: number | null;
  tls: number | null;
  first_byte: number | null;
  total: number;
};
