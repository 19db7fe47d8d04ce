/** The thread of parse-large.ts. */
import { parentPort, workerData } from 'node:worker_threads';
import { type Event, type EventMessage, type ParsedEvent, parseEvent } from '@gatepost/contracts/event';

export type ToParse = Omit<EventMessage, 'body'> & { body: Uint8Array<ArrayBuffer> };
export type Parsed = {
  parsed: Exclude<ParsedEvent, { kind: 'event' }> | { kind: 'event'; event: Omit<Event, 'payload'> };
  /** null: it is the body. */
  payload: Uint8Array<ArrayBuffer> | null;
};

const { contentType, headers, body } = workerData as ToParse;
const parsed = parseEvent({ contentType, headers, body: Buffer.from(body.buffer) });
let answer: Parsed;
if (parsed.kind === 'dead') answer = { parsed, payload: null };
else {
  const { payload, ...event } = parsed.event;
  const isBody = payload.length === body.length;
  answer = { parsed: { kind: 'event', event }, payload: isBody ? null : new Uint8Array(payload) };
}
parentPort!.postMessage(answer, answer.payload ? [answer.payload.buffer] : []);
