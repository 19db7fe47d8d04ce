/**
 * A hook's deliveries as they are recorded, by server-sent events (docs/reference/webhooks-api.md, "Watching deliveries"). Read with `fetch`,
 * because an `EventSource` sends no `Authorization`.
 */
import { SignedOut } from '../session/errors.ts';
import type { Session } from '../session/session.ts';
import { ApiProblem, problemOf } from './client.ts';
import type { Delivery } from './types.ts';

export type Watch = {
  onDelivery(delivery: Delivery): void;
  /** Something was missed, which only the list knows. */
  onGap(): void;
  /** Whether deliveries arrive by themselves from now on. */
  onLive(is: boolean): void;
};

/** Something arrives every 15 s, if only a comment. */
const silenceMs = 40_000;
const againMs = { least: 2_000, most: 30_000 };

/** Watches until `signal` is aborted, reconnecting after the last delivery received. Ends for good when the API refuses it. */
export async function watchDeliveries(
  session: Session,
  path: string,
  watch: Watch,
  signal: AbortSignal,
): Promise<void> {
  let lastId: string | undefined;
  let waitMs = againMs.least;
  const onFlow = () => {
    watch.onLive(true);
    // Fetches what came between the list and the stream.
    if (lastId === undefined) watch.onGap();
    waitMs = againMs.least;
  };
  while (!signal.aborted) {
    try {
      const events = await open(session, path, { lastId, signal, onFlow });
      for await (const { id, event, data } of events) {
        if (id !== undefined) lastId = id;
        if (event === 'delivery') watch.onDelivery(JSON.parse(data));
        else if (event === 'gap') watch.onGap();
        else if (event === 'end' && JSON.parse(data).reason === 'refused') return;
      }
    } catch (error) {
      if (error instanceof SignedOut || (error instanceof ApiProblem && isFinal(error.status))) return;
    } finally {
      if (!signal.aborted) watch.onLive(false);
    }
    // Spreads the clients out when a process stops.
    await rest(waitMs * (0.5 + Math.random()), signal);
    waitMs = Math.min(waitMs * 2, againMs.most);
  }
}

/** Errors that another try would not fix; the list reports them too. */
const isFinal = (status: number) => [400, 403, 404, 422].includes(status);

type SentEvent = { id: string | undefined; event: string; data: string };

/** `onFlow` is called once something arrives: a proxy may answer and still hold back everything. */
async function open(
  session: Session,
  path: string,
  { lastId, signal, onFlow }: { lastId: string | undefined; signal: AbortSignal; onFlow: () => void },
): Promise<AsyncIterable<SentEvent>> {
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(), silenceMs);
  const response = await fetch(path, {
    headers: {
      Authorization: `Bearer ${await session.token()}`,
      Accept: 'text/event-stream',
      ...(lastId !== undefined && { 'Last-Event-ID': lastId }),
    },
    signal: AbortSignal.any([signal, silence.signal]),
  });
  if (!response.ok || !response.body) {
    clearTimeout(timer);
    throw await problemOf(response);
  }
  let isFlowing = false;
  return read(response.body, {
    onPart() {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), silenceMs);
      if (!isFlowing) onFlow();
      isFlowing = true;
    },
    onEnd: () => clearTimeout(timer),
  });
}

async function* read(
  body: ReadableStream<Uint8Array>,
  { onPart, onEnd }: { onPart: () => void; onEnd: () => void },
): AsyncGenerator<SentEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  try {
    for (;;) {
      const part = await reader.read();
      if (part.done) return;
      onPart();
      text += decoder.decode(part.value, { stream: true });
      const events = text.split('\n\n');
      text = events.pop()!;
      for (const event of events) {
        const parsed = parse(event);
        if (parsed) yield parsed;
      }
    }
  } finally {
    onEnd();
    await reader.cancel().catch(() => {}); // it has broken already
  }
}

/** undefined: a comment, or the reconnection time. */
function parse(text: string): SentEvent | undefined {
  const fields = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [, name, value] = /^([^:]+): ?(.*)$/.exec(line) ?? [];
    if (name !== undefined) fields.set(name, fields.has(name) ? `${fields.get(name)}\n${value}` : value!);
  }
  const data = fields.get('data');
  return data === undefined ? undefined : { id: fields.get('id'), event: fields.get('event') ?? 'message', data };
}

function rest(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
