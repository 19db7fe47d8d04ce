/**
 * A delivery to a listener's WebSocket on its way through RabbitMQ: from the dispatcher that makes it to the webhook API process that holds the
 * socket, and the answer back (docs/decisions/0316-listeners-and-streams.md). Both are a line of JSON followed by the bytes of the body.
 */
import type { Topology } from './topology.ts';

/** Routes by hook id to the process that holds the hook's socket; to nobody while none is open. */
export const listenersExchange = 'gatepost.listeners';

export const listenersTopology: Topology = {
  exchanges: [{ name: listenersExchange, type: 'direct', durable: true }],
  queues: [],
  bindings: [],
};

/** How long a delivery may wait for those before it, on top of its own time. After that it is put aside. */
export const lineMaxMs = 2_000;

/** Messages to a process with a listener: a delivery, or notice that another socket replaces its own; the body is that socket's session. */
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
  /** Other deliveries are before it. */
  | { kind: 'busy' }
  | { kind: 'error'; code: string; message: string; hadResponse: boolean };

const none = Buffer.alloc(0);
const newline = 0x0a;

export function encodeRequest({ body, ...head }: ForwardRequest): Buffer {
  return encode(head, body);
}

export function decodeRequest(message: Buffer): ForwardRequest {
  const { head, body } = decode(message);
  // Only our own services talk here.
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
