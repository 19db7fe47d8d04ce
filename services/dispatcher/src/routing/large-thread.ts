/** The thread of large-events.ts. */
import { parentPort, workerData } from 'node:worker_threads';
import { type Event, type ParsedEvent, parseEvent, payloadMaxBytes } from '@gatepost/contracts/event';
import type { EventMessage } from '@gatepost/contracts/event-headers';
import { sqlStateOf, type Trouble, troubleOf } from '@gatepost/runtime/store-errors';
import { findPayload } from '@gatepost/webhook-db/event-payloads';
import { makeStoreEvents, type NewEvent, type StoredEvent } from '@gatepost/webhook-db/events';
import { openPool } from '@gatepost/webhook-db/pool';
import { asBuffer } from './large-bytes.ts';
import { acquired, released } from './memory.ts';

export type Settings = { databaseUrl: string; isPooled: boolean };

/** Bytes shared between threads. */
type Bytes = Uint8Array<SharedArrayBuffer>;
type ToStore = Omit<NewEvent, 'keyBefore' | 'payload'> & { keyBefore: string; payload: Bytes | null };

type ToParse = Omit<EventMessage, 'body'> & { body: Bytes };

export type Question = { parse: ToParse } | { store: ToStore[] } | { load: { eventKey: string; eventOn: string } };

type Done = {
  parsed?: Exclude<ParsedEvent, { kind: 'event' }> | { kind: 'event'; event: Omit<Event, 'payload'> };
  /** Undefined: for a parsed message the payload is its body; for a load there is none. */
  payload?: Bytes | undefined;
  stored?: StoredEvent[];
};
/** The parts of an error that the caller looks at (packages/runtime/src/store-errors.ts). */
type Failed = { message: string; trouble: Trouble; code?: string; severity?: string };
export type Answer = { id: number } & (({ kind: 'done' } & Done) | ({ kind: 'failed' } & Failed));

const { databaseUrl, isPooled } = workerData as Settings;
const pool = openPool({
  databaseUrl,
  isPooled,
  name: 'gatepost dispatcher large events',
  max: 2,
  byIndexOnly: true,
  onError: () => {}, // the next statement takes another connection
});

async function work(question: Question): Promise<Done> {
  if ('parse' in question) return parse(question.parse);
  if ('store' in question) {
    const storeEvents = await makeStoreEvents(pool);
    const events = question.store.map((event) => ({
      ...event,
      keyBefore: () => event.keyBefore,
      payload: event.payload && asBuffer(event.payload),
    }));
    return { stored: await storeEvents(events) };
  }
  const payload = await findPayload(pool, question.load.eventKey, question.load.eventOn);
  return { payload: payload && share(payload) };
}

function parse({ contentType, headers, body }: ToParse): Done {
  const parsed = parseEvent({ contentType, headers, body: asBuffer(body) });
  if (parsed.kind === 'dead') return { parsed };
  const { payload, ...event } = parsed.event;
  const isBody = payload.length === body.length;
  return { parsed: { kind: 'event', event }, payload: isBody ? undefined : share(payload) };
}

function share(bytes: Buffer): Bytes {
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length));
  copy.set(bytes);
  return copy;
}

function bytesOf(question: Question): number {
  if ('parse' in question) return question.parse.body.length;
  return 'store' in question ? Math.max(...question.store.map(({ payload }) => payload?.length ?? 0)) : payloadMaxBytes;
}

function failureOf(error: unknown): Failed {
  const { message = String(error), severity } = error as { message?: string; severity?: string };
  const code = sqlStateOf(error);
  return { message, trouble: troubleOf(error), ...(code && { code, severity: severity ?? 'ERROR' }) };
}

parentPort!.on('message', async (asked: (Question & { id: number }) | 'end') => {
  if (asked === 'end') {
    await pool.end();
    parentPort!.close();
    return;
  }
  const { id } = asked;
  const bytes = bytesOf(asked);
  acquired(bytes);
  const answer: Answer = await work(asked).then(
    (done) => ({ id, kind: 'done', ...done }),
    (error) => ({ id, kind: 'failed', ...failureOf(error) }),
  );
  parentPort!.postMessage(answer);
  released(bytes);
});
