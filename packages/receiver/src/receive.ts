import { createHash } from 'node:crypto';
import { type Delivery, readVerified } from './delivery.ts';
import { type DeliveryStore, memoryStore } from './once.ts';
import { Refused, type RefusedCode } from './refused.ts';
import { type ReadHeader, secretsOf, standardKey, verifySignature } from './signature.ts';

/** Handles one event, within 10 s: put longer work in a queue. When it throws, the delivery is refused and sent again. */
export type Handler = (delivery: Delivery) => unknown;

export type ReceiverOptions = {
  /** The hook's secret; both the new and the old one during a change. */
  secret: string | string[];
  /** Where handled deliveries are remembered. Default: this process's memory. */
  store?: DeliveryStore;
  /** The largest payload; a form may be three times as long. Default: 25 MB, as Gatepost and GitHub send them. */
  maxBytes?: number;
  /** Called with what was refused and what the handler threw. Default: `console.error`. */
  onError?: (error: unknown) => void;
};

/** Null when another parser has read it. */
type Body = AsyncIterable<Uint8Array> | Iterable<Uint8Array> | null;

/** Turns a request into its answer, the same for every kind of receiver. */
export function openReceive(options: ReceiverOptions, handle: Handler) {
  const { store = memoryStore(), maxBytes = 25 * 1024 * 1024, onError = console.error } = options;
  const secrets = secretsOf(options.secret);
  return async function receive(method: string | undefined, read: ReadHeader, body: Body) {
    try {
      if (method !== 'POST') throw new Refused('bad_method', 'A webhook is a POST.');
      const isForm = read('content-type')?.startsWith('application/x-www-form-urlencoded');
      const bytes = await readBody(body, isForm ? 3 * maxBytes : maxBytes);
      const signers = verifySignature(secrets, read, bytes);
      const delivery = readVerified(read, bytes);
      return await once(delivery, keysOf(delivery, signers));
    } catch (error) {
      onError(error);
      if (!(error instanceof Refused)) return answer(500, 'It could not be handled.');
      return answer(error.status, error.message, refusalHeaders[error.code]);
    }
  };
  async function once(delivery: Delivery, keys: string[]) {
    const claimed: string[] = [];
    const done = () => Promise.all(claimed.map((key) => store.done(key)));
    const failed = () => Promise.all(claimed.map((key) => store.failed(key)));
    for (const key of keys) {
      const state = await store.claim(key);
      if (state === 'new') claimed.push(key);
      if (state === 'done') {
        await done();
        return answer(200, 'It was handled before.');
      }
      if (state === 'running') {
        await failed();
        // Not a success: if the first one fails, this one must come again. When is left to the sender, whose waits grow: a short
        // Retry-After would use up all attempts while the claim of a process that has died still holds.
        return answer(503, 'It is being handled.');
      }
    }
    try {
      await handle(delivery);
    } catch (error) {
      await failed();
      throw error;
    }
    await done();
    return answer(200, 'Handled.');
  }
}

/**
 * What an event is remembered by. The hook's id is in no signature: who recorded a delivery could send it again under another. Hence the
 * guid that `whsec_…` secrets sign, once for each that did: who recorded it could also leave out one of the signatures.
 */
function keysOf({ hookId = '', guid }: Delivery, signers: string[]): string[] {
  const standard = signers.filter((one) => standardKey(one));
  if (standard.length === 0) return [`${hookId}:${guid}`];
  return standard.map((one) => `whsec_${createHash('sha256').update(one).digest('hex').slice(0, 16)}:${guid}`);
}

async function readBody(body: Body, maxBytes: number): Promise<Uint8Array> {
  if (!body) throw new Refused('body_was_read', 'Another parser has read the body: put the receiver before it.');
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of body) {
    length += part.length;
    if (length > maxBytes) throw new Refused('too_large', `The body is over ${maxBytes} bytes.`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

const refusalHeaders: { [code in RefusedCode]?: Record<string, string> } = {
  bad_method: { Allow: 'POST' },
  too_large: { Connection: 'close' }, // nobody waits for the rest
};

function answer(status: number, text: string, headers: Record<string, string> = {}) {
  return { status, headers: { 'Content-Type': 'text/plain', ...headers }, text: `${text}\n` };
}
