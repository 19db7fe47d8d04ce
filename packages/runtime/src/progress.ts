/**
 * Notices a process that runs, and whose stores answer, but that gets nothing done: work waits at some place, and none has been done
 * there for a minute.
 */
import type { Log } from './log.ts';
import { Gauge, type Registry } from './metrics.ts';

export type Place = {
  name: string;
  /** Whether something is there to be done. Rejects while that cannot be told. */
  waits(): boolean | Promise<boolean>;
  /** Counts what has been done there; only grows. */
  moved(): number;
  /** How long a place may stand still. Default 60,000. */
  patienceMs?: number;
};

export type Progress = Disposable & {
  /** A readiness check. @throws naming the places where nothing moves. */
  check(): void;
  /** Looks at all places now; done by itself every second. */
  look(): Promise<void>;
};

const everyMs = 1_000;
const defaultPatienceMs = 60_000;

type Watched = Place & { lastMoved: number; stillSince: number | undefined; isStalled: boolean };

/** Looks every second until disposed. `metric` is the name of a gauge by place: how long nothing has moved there, in seconds. */
export function watchProgress(options: {
  places: readonly Place[];
  metric: string;
  registry: Registry;
  log: Log;
  /** For tests. */
  now?: () => number;
}): Progress {
  const { log } = options;
  const now = options.now ?? (() => performance.now());
  const places = options.places.map(
    (place): Watched => ({ ...place, lastMoved: place.moved(), stillSince: undefined, isStalled: false }),
  );
  const stillMs = (place: Watched) =>
    place.stillSince === undefined || place.moved() !== place.lastMoved ? 0 : now() - place.stillSince;
  const isStalled = (place: Watched) => stillMs(place) >= (place.patienceMs ?? defaultPatienceMs);

  const lookAt = async (place: Watched) => {
    let waits: boolean;
    try {
      waits = await place.waits();
    } catch {
      return; // what it asks is away, which other checks tell
    }
    const moved = place.moved();
    if (!waits) place.stillSince = undefined;
    else if (moved !== place.lastMoved) place.stillSince = now();
    else place.stillSince ??= now();
    place.lastMoved = moved;
    const wasStalled = place.isStalled;
    place.isStalled = isStalled(place);
    if (place.isStalled && !wasStalled)
      log.error({ place: place.name, still_ms: stillMs(place) }, 'nothing moves though something waits');
    if (!place.isStalled && wasStalled) log.info({ place: place.name }, 'it moves again');
  };
  const look = async () => {
    await Promise.all(places.map(lookAt));
  };
  new Gauge({
    name: options.metric,
    help: 'How long nothing has moved at a place though something waits there',
    labelNames: ['place'],
    registers: [options.registry],
    collect() {
      for (const place of places) this.set({ place: place.name }, stillMs(place) / 1_000);
    },
  });
  const timer = setInterval(() => void look(), everyMs);
  timer.unref();
  return {
    look,
    check() {
      const stalled = places.filter(isStalled);
      if (stalled.length === 0) return;
      const names = stalled.map((place) => `${place.name} for ${Math.floor(stillMs(place) / 1_000)} s`);
      throw new Error(`nothing has moved though something waits: ${names.join(', ')}`);
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
