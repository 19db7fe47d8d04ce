/** Watching the log for the hooks of the open streams: once a second for all of them together, and not at all when there are none. */
import type { Pool } from '@gatepost/webhook-db/pool';
import { type Attempted, findLatest, loadShown, loadSince, type Shown } from './rows.ts';
import type { Stream } from './stream.ts';

/** The range checked each second; the whole one is checked only now and then. */
const recentMs = 15_000;
const wholeEvery = 8;
const pageRows = 100;
const pastMax = 10_000;

type Watcher = { stream: Stream };
/** `seen`: recent deliveries that existed at the start or have been sent. */
type Watched = { open: Set<Watcher>; seen: Set<string> | undefined; ready: Promise<void> };

/**
 * The watched hooks, and which of their deliveries have been sent.
 * @param lateMs how much later than its start an attempt may be recorded
 */
export function makeWatching(pool: Pool, lateMs: number) {
  const watched = new Map<number, Watched>();
  let looked = 0;
  let wholeAt = performance.now();
  return {
    watch(hookId: number): Watched {
      const known = watched.get(hookId);
      if (known) return known;
      const made: Watched = { open: new Set(), seen: undefined, ready: Promise.resolve() };
      made.ready = findLatest(pool, [hookId], 2 * lateMs).then((rows) => {
        made.seen = new Set(rows.map(({ id }) => id));
      });
      made.ready.catch(() => watched.get(hookId) === made && watched.delete(hookId)); // whoever opened it gets the error
      watched.set(hookId, made);
      return made;
    },
    leave(hookId: number, hook: Watched, held: Watcher) {
      hook.open.delete(held);
      if (hook.open.size === 0 && watched.get(hookId) === hook) watched.delete(hookId);
    },
    begin() {
      looked = 0;
      wholeAt = performance.now();
    },
    /** Makes the next look a whole one. */
    lookAtAll() {
      looked = 0;
    },
    /** Sends what has been recorded since. */
    async look(): Promise<void> {
      const hooks = new Map([...watched].filter(([, { seen }]) => seen));
      if (hooks.size === 0) return;
      const isWhole = looked % wholeEvery === 0;
      // While PostgreSQL was away, attempts were recorded even later.
      const withinMs = isWhole ? lateMs + performance.now() - wholeAt : recentMs;
      const beganAt = performance.now();
      const rows = await findLatest(pool, [...hooks.keys()], withinMs);
      const fresh = rows.filter(({ hook_id, id }) => !hooks.get(hook_id)?.seen?.has(id));
      await send(fresh, (some) => loadShown(pool, some, withinMs), watched);
      if (isWhole) {
        for (const hook of hooks.values()) hook.seen = new Set();
        for (const { hook_id, id } of rows) hooks.get(hook_id)?.seen?.add(id);
        wholeAt = beganAt;
      }
      looked += 1;
    },
  };
}

async function send(
  fresh: Attempted[],
  load: (some: Attempted[]) => ReturnType<typeof loadShown>,
  watched: ReadonlyMap<number, Watched>,
): Promise<void> {
  for (let at = 0; at < fresh.length; at += pageRows) {
    const shown = await load(fresh.slice(at, at + pageRows));
    for (const [hookId, rows] of Map.groupBy(shown, (row) => row.hook_id)) {
      const hook = watched.get(hookId);
      const events = encode(rows);
      for (const { stream } of hook?.open ?? []) stream.send(events);
      for (const { id } of rows) hook?.seen?.add(id);
    }
  }
}

/**
 * The beginning of a stream: everything after the client's last known delivery, plus what may have been recorded later than that; for a client
 * that knows none, whatever a list read now may lack.
 */
export async function* missedDeliveries(
  pool: Pool,
  { hookId, ageMs }: { hookId: number; ageMs: number | 'unknown' | undefined },
  { lateMs, lagMs }: { lateMs: number; lagMs: number },
): AsyncGenerator<Buffer> {
  if (ageMs === 'unknown') yield gap('unknown');
  const withinMs = typeof ageMs === 'number' ? Math.max(0, ageMs) + lateMs : recentMs + lagMs;
  let sent = 0;
  for await (const rows of loadSince(pool, hookId, withinMs, { page: pageRows, most: pastMax })) {
    sent += rows.length;
    if (rows.length > 0) yield encode(rows);
  }
  if (sent >= pastMax) yield gap('too_many');
}

/** JSON has no line breaks: each is a single `data` line. */
function encode(rows: Shown[]): Buffer {
  return Buffer.from(rows.map(({ id, json }) => `id: ${id}\nevent: delivery\ndata: ${json}\n\n`).join(''));
}

const gap = (reason: 'unknown' | 'too_many') => Buffer.from(`event: gap\ndata: ${JSON.stringify({ reason })}\n\n`);
