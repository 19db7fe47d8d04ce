/**
 * Parses, stores and loads large events in a thread of its own: each of these steps blocks an event loop for a tenth of a second per 24 MB,
 * and for half a second and more if the JSON has many members. Bytes are shared with the thread, not copied.
 */
import { extname } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { ParsedEvent } from '@gatepost/contracts/event';
import type { EventMessage } from '@gatepost/contracts/event-headers';
import type { Trouble } from '@gatepost/runtime/store-errors';
import type { StoreEvents } from '@gatepost/webhook-db/events';
import { asBuffer } from './large-bytes.ts';
import type { Answer, Question, Settings } from './large-thread.ts';

export type LargeEvents = AsyncDisposable & {
  /** Parses a message into an event, or says why it cannot be one. */
  parse(message: EventMessage): Promise<ParsedEvent>;
  store: StoreEvents;
  /** The payload of a stored event. */
  load(eventKey: string, eventOn: string): Promise<Buffer | undefined>;
};

const file = new URL(`./large-thread${extname(import.meta.url)}`, import.meta.url);
/** Copying this much takes less than a millisecond. */
const sliceBytes = 1024 * 1024;
/** The thread ends after this long without work, which frees its memory. */
const idleMs = 5_000;

type Asked = PromiseWithResolvers<Extract<Answer, { kind: 'done' }>> & { parses: boolean };
type Running = { worker: Worker; asked: Map<number, Asked> };

/** The thread could not start, or something else ended it: the same request works later. */
class NoThread extends Error {
  override name = 'NoThread';
  readonly trouble: Trouble = 'away';
  constructor(cause: unknown) {
    super('there is no thread for large events just now', { cause });
  }
}

/** Requests that fail because the thread ends reject with an error that says so; the next request starts another thread. */
export function openLargeEvents(settings: Settings): LargeEvents {
  let running: Running | undefined;
  let timer: NodeJS.Timeout | undefined;
  let last = 0;

  const begin = () => {
    const own: Running = beginThread(settings, {
      onEnd() {
        if (running === own) running = undefined;
      },
      onIdle,
    });
    return own;
  };
  const idle = () => {
    const ended = running;
    running = undefined;
    ended?.worker.postMessage('end');
  };
  const onIdle = () => {
    timer = setTimeout(idle, idleMs).unref();
  };
  const ask = (question: Question) => {
    clearTimeout(timer);
    running ??= begin();
    const answer: Asked = { ...Promise.withResolvers(), parses: 'parse' in question };
    last += 1;
    try {
      running.worker.postMessage({ ...question, id: last });
    } catch (error) {
      // Headers nested too deep to be copied: the thread will not answer.
      if (running.asked.size === 0) onIdle();
      throw error;
    }
    running.asked.set(last, answer);
    return answer.promise;
  };

  return {
    async parse({ contentType, headers, body }) {
      const { parsed, payload } = await ask({ parse: { contentType, headers, body: await shared(body) } });
      if (parsed!.kind === 'dead') return parsed!;
      return { kind: 'event', event: { ...parsed!.event, payload: payload ? asBuffer(payload) : body } };
    },
    async store(events) {
      const store = events.map(async (event) => ({
        ...event,
        keyBefore: event.keyBefore(),
        payload: event.payload && (await shared(event.payload)),
      }));
      return (await ask({ store: await Promise.all(store) })).stored!;
    },
    async load(eventKey, eventOn) {
      const { payload } = await ask({ load: { eventKey, eventOn } });
      return payload && asBuffer(payload);
    },
    async [Symbol.asyncDispose]() {
      clearTimeout(timer);
      const { worker } = running ?? {};
      if (!worker) return;
      const exited = new Promise((resolve) => worker.once('exit', resolve)); // also when it ends with an error
      idle();
      await exited;
    },
  };
}

/** `onIdle`: all requests have been answered. */
function beginThread(settings: Settings, { onEnd, onIdle }: { onEnd(): void; onIdle(): void }): Running {
  const worker = openWorker(settings);
  const asked: Running['asked'] = new Map();
  const end = (error: Error) => {
    onEnd();
    // Messages are parsed one after the other, and only the current one can have ended the thread: others must not be taken for faulty.
    const atFault = [...asked.values()].find(({ parses }) => parses);
    for (const one of asked.values()) one.reject(one === atFault ? error : new NoThread(error));
    asked.clear();
  };
  worker.on('error', end);
  worker.on('exit', () => end(new Error('the thread of large events ended')));
  worker.on('message', (answer: Answer) => {
    const question = asked.get(answer.id);
    asked.delete(answer.id);
    if (asked.size === 0) onIdle();
    if (answer.kind === 'done') return question?.resolve(answer);
    const { kind: _kind, id: _id, message, ...more } = answer;
    question?.reject(Object.assign(new Error(message), more));
  });
  return { worker, asked };
}

function openWorker(settings: Settings): Worker {
  try {
    return new Worker(file, { workerData: settings });
  } catch (error) {
    throw new NoThread(error);
  }
}

/**
 * The bytes in a form that a thread can read: large bodies come from RabbitMQ that way (packages/amqp/src/read-frames.ts), others are copied.
 * In slices, because the system maps large memory page by page on writing, which would take some 20 ms at once.
 */
async function shared(bytes: Buffer): Promise<Uint8Array<SharedArrayBuffer>> {
  if (bytes.buffer instanceof SharedArrayBuffer) return bytes as Buffer<SharedArrayBuffer>;
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length));
  for (let start = 0; start < bytes.length; start += sliceBytes) {
    copy.set(bytes.subarray(start, start + sliceBytes), start);
    if (bytes.length > sliceBytes) await nextTurn();
  }
  return copy;
}
