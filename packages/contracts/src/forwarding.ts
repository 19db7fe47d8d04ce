/**
 * A delivery to a listener's WebSocket, as it crosses RabbitMQ: from the dispatcher that makes it to the process of the webhook API that
 * holds the socket, and the answer back (docs/decisions/0316-listeners-and-streams.md). Both are a line of JSON, followed by
 * the body's bytes.
 */
import type { Topology } from './topology.ts';

/** Routes by the hook's id to the process that holds its socket; to nobody while none is open. */
export const listenersExchange = 'gatepost.listeners';

export const listenersTopology: Topology = {
  exchanges: [{ name: listenersExchange, type: 'direct', durable: true }],
  queues: [],
  bindings: [],
};

/** How long a delivery waits at most for those before it, beside its own time. After that it is put aside. */
export const lineMaxMs = 2_000;

/** What a message to a process with a listener is: a delivery, or that its socket is replaced by another, whose session is the body. */
export const forwardingTypes = { delivery: 'delivery', takenOver: 'taken_over' } as const;

export type ForwardRequest = {
  headers: Record<string, string>;
  /** How long the listener may take. */
  timeoutMs: number;
  body: Buffer;
};

export type ForwardAnswer =
  | { kind: 'response'; status: number; headers: Record<string, string>; body: Buffer }
  | { kind: 'timeout' }
  /** Others are before it. */
  | { kind: 'busy' }
  | { kind: 'error'; code: string; message: string; hadResponse: boolean };

const none = Buffer.alloc(0);
const newline = 0x0a;

export function encodeRequest({ body, ...head }: ForwardRequest): Buffer {
  return encode(head, body);
}

export function decodeRequest(message: Buffer): ForwardRequest {
  const { head, body } = decode(message);
  // The services are each other's only partners here.
  return { ...(head as Omit<ForwardRequest, 'body'>), body };
}

export function encodeAnswer(answer: ForwardAnswer): Buffer {
  if (answer.kind !== 'response') return encode(answer, none);
  const { body, ...head } = answer;
  return encode(head, body);
}

export function decodeAnswer(message: Buffer): ForwardAnswer {
  const { head, body } = decode(message);
  const answer = head as ForwardAnswer; // as above
  return answer.kind === 'response' ? { ...answer, body } : answer;
}

function encode(head: object, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), body]);
}

function decode(message: Buffer): { head: object; body: Buffer } {
  const end = message.indexOf(newline);
  return { head: JSON.parse(message.toString('utf8', 0, end)), body: message.subarray(end + 1) };
}
