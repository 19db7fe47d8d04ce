/**
 * Reads an event from a large message in a thread of its own: to decode and parse 24 MB keeps an event loop busy for a tenth of a second, and
 * with many members for half a second and more.
 */
import { once } from 'node:events';
import { extname } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { EventMessage, ParsedEvent } from '@gatepost/contracts/event';
import type { Parsed, ToParse } from './parse-thread.ts';

const file = new URL(`./parse-thread${extname(import.meta.url)}`, import.meta.url);
/** To copy so much takes less than a millisecond. */
const sliceBytes = 1024 * 1024;

/** Parses a message into an event, or says why it cannot be one. Rejects if the thread fails. */
export async function parseLarge({ contentType, headers, body }: EventMessage): Promise<ParsedEvent> {
  const copy = await copyInSlices(body);
  const workerData: ToParse = { contentType, headers, body: copy };
  const worker = new Worker(file, { workerData, transferList: [copy.buffer] });
  const [{ parsed, payload }] = (await once(worker, 'message')) as [Parsed];
  if (parsed.kind === 'dead') return parsed;
  return { kind: 'event', event: { ...parsed.event, payload: payload ? Buffer.from(payload.buffer) : body } };
}

/** The system gives large memory page by page as it is written: at once that would take some 20 ms. */
async function copyInSlices(body: Buffer): Promise<Uint8Array<ArrayBuffer>> {
  const copy = new Uint8Array(body.length);
  for (let start = 0; start < body.length; start += sliceBytes) {
    copy.set(body.subarray(start, start + sliceBytes), start);
    await nextTurn();
  }
  return copy;
}
