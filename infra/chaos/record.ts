/** The receiver: records everything that arrives, and answers some of it with 503. */
import { createHmac } from 'node:crypto';
import { openReceiver, type Received } from '@gatepost/testkit/receiver';

/** One request that was accepted (2xx). */
export type Accepted = { hook: number; guid: string; number: number; body: string; signed: boolean; at: number };

export type Record = AsyncDisposable & {
  url: string;
  accepted: Accepted[];
  /** Requests answered with 503, by hook and guid. */
  refused: string[];
  /** How many different deliveries (a hook and a guid) were accepted. */
  acceptedOnce(): number;
  /** The highest number of an accepted event. */
  latest(): number;
};

export const secret = 'chaos-secret-chaos-secret';

export async function openRecord(failingShare: number, random: () => number): Promise<Record> {
  const accepted: Accepted[] = [];
  const once = new Set<string>();
  const refused: string[] = [];
  let latest = -1;
  const receiver = await openReceiver({
    behave(request) {
      // Each new hook gets a ping.
      if (request.headers['x-github-event'] === 'ping') return { status: 204 };
      const entry = read(request);
      const key = `${entry.hook} ${entry.guid}`;
      if (random() < failingShare) {
        refused.push(key);
        return { status: 503 };
      }
      accepted.push(entry);
      latest = Math.max(latest, entry.number);
      once.add(key);
      return { status: 204, delayMs: Math.floor(random() * 20) };
    },
  });
  return {
    url: receiver.url,
    accepted,
    refused,
    acceptedOnce: () => once.size,
    latest: () => latest,
    [Symbol.asyncDispose]: () => receiver[Symbol.asyncDispose](),
  };
}

function read({ headers, body, at }: Received): Accepted {
  const text = body.toString('utf8');
  const expected = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
  return {
    hook: Number(headers['x-github-hook-id']),
    guid: headers['x-github-delivery'] ?? '',
    number: (JSON.parse(text) as { number: number }).number, // the load writes only this
    body: text,
    signed: headers['x-hub-signature-256'] === expected,
    at,
  };
}
