/** A stream of server-sent events as a client reads it. */
import { until } from '@gatepost/testkit/until';
import type { Api } from './api.ts';

// biome-ignore lint/suspicious/noExplicitAny: an event's JSON, of which each test expects what it names
export type SentEvent = { id?: string; event?: string; data?: any };

export type Events = AsyncDisposable & {
  head: Response;
  all: SentEvent[];
  next(what: (event: SentEvent) => boolean): Promise<SentEvent>;
  /** Whether the server has ended it, and not we. */
  ended(): boolean;
};

export async function openEvents(
  api: Pick<Api, 'base'>,
  token: string,
  path: string,
  headers: Record<string, string> = {},
): Promise<Events> {
  const leaving = new AbortController();
  const head = await fetch(api.base + path, {
    headers: { authorization: `Bearer ${token}`, ...headers },
    signal: leaving.signal,
  });
  const all: SentEvent[] = [];
  let isEnded = false;
  const reading = (async () => {
    let text = '';
    for await (const chunk of head.body!.pipeThrough(new TextDecoderStream())) {
      const blocks = (text + chunk).split('\n\n');
      text = blocks.pop()!;
      all.push(...blocks.map(parse).filter(({ event }) => event));
    }
    isEnded = true;
  })().catch(() => {}); // we have left, or were cut off
  return {
    head,
    all,
    next: (what) => until('an event', () => all.find(what)),
    ended: () => isEnded,
    async [Symbol.asyncDispose]() {
      leaving.abort();
      await reading;
    },
  };
}

function parse(block: string): SentEvent {
  const fields = block.split('\n').map((line) => /^(\w*): ?(.*)$/.exec(line)?.slice(1) ?? []);
  const { data, ...event } = Object.fromEntries(fields);
  return { ...event, ...(data && { data: JSON.parse(data) }) };
}
