/**
 * Detects a process that runs, and whose stores answer, but that makes no progress: work is waiting at some stage, and none has been done
 * there for a minute. Metrics and the log call a stage a `place`.
 */
import type { Log } from './log.ts';
import { Gauge, type Registry } from './metrics.ts';

export type Stage = {
  name: string;
  /** Whether work is waiting. Rejects while that is unknown. */
  hasWork(): boolean | Promise<boolean>;
  /** Counts the work done; only grows. */
  completed(): number;
  /** How long a single piece of work may take, during which nothing need move. Default 0. */
  workMs?: number;
};

export type Progress = Disposable & {
  /** A readiness check. @throws naming the stages where nothing moves. */
  check(): void;
  /** Checks all stages now; also runs every second by itself. */
  look(): Promise<void>;
};

const everyMs = 1_000;
const patienceMs = 60_000;

type Watched = Stage & { lastMoved: number; stillSince: number | undefined; isStalled: boolean };

/** Checks every second until disposed. `metric` names a gauge by stage: how long nothing has moved there beyond `workMs`, in seconds. */
export function watchProgress(options: {
  stages: readonly Stage[];
  metric: string;
  registry: Registry;
  log: Log;
  /** For tests. */
  now?: () => number;
}): Progress {
  const { log } = options;
  const now = options.now ?? (() => performance.now());
  const stages = options.stages.map(
    (stage): Watched => ({ ...stage, lastMoved: stage.completed(), stillSince: undefined, isStalled: false }),
  );
  const stillMs = (stage: Watched) =>
    stage.stillSince === undefined || stage.completed() !== stage.lastMoved ? 0 : now() - stage.stillSince;
  const stalledMs = (stage: Watched) => Math.max(0, stillMs(stage) - (stage.workMs ?? 0));
  const isStalled = (stage: Watched) => stalledMs(stage) >= patienceMs;

  const lookAt = async (stage: Watched) => {
    let waits: boolean;
    try {
      waits = await stage.hasWork();
    } catch {
      return; // what it asks is away, which other checks report
    }
    const moved = stage.completed();
    if (!waits) stage.stillSince = undefined;
    else if (moved !== stage.lastMoved) stage.stillSince = now();
    else stage.stillSince ??= now();
    stage.lastMoved = moved;
    const wasStalled = stage.isStalled;
    stage.isStalled = isStalled(stage);
    if (stage.isStalled && !wasStalled)
      log.error({ place: stage.name, still_ms: stillMs(stage) }, 'nothing moves although something waits');
    if (!stage.isStalled && wasStalled) log.info({ place: stage.name }, 'it moves again');
  };
  const look = async () => {
    await Promise.all(stages.map(lookAt));
  };
  new Gauge({
    name: options.metric,
    help: 'How long nothing has moved at a stage although something waits there, beyond what a single piece of work may take',
    labelNames: ['place'],
    registers: [options.registry],
    collect() {
      for (const stage of stages) this.set({ place: stage.name }, stalledMs(stage) / 1_000);
    },
  });
  const timer = setInterval(() => void look(), everyMs);
  timer.unref();
  return {
    look,
    check() {
      const stalled = stages.filter(isStalled);
      if (stalled.length === 0) return;
      const names = stalled.map((stage) => `${stage.name} for ${Math.floor(stillMs(stage) / 1_000)} s`);
      throw new Error(`nothing has moved though something waits: ${names.join(', ')}`);
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
