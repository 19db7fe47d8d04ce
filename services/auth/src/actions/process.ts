/**
 * Runs one version of an action in a process of its own, started when first needed and again after it has died. Runs in progress then
 * fail; none is repeated, since an action may already have done something elsewhere.
 */
import { graceMs, type Launched, type Limits, launch, type Program, type Queued, runsMax } from './launch.ts';
import type { AskOutside } from './outside.ts';
import { failed, type RunResult } from './run-result.ts';
import { type Call, lineMaxBytes, type Order } from './worker/messages.ts';

export type ActionProcess = Disposable & {
  /** Never rejects. */
  run(call: Call): Promise<RunResult>;
};

/** A first crash may be one person's bad luck; a process that keeps dying waits twice as long each time. */
const firstPauseMs = 100;
const longestPauseMs = 30_000;
const pauseAfter = (ends: number) =>
  ends < 2 ? 0 : Math.min(firstPauseMs * 2 ** Math.min(ends - 2, 20), longestPauseMs);

/** How many runs wait, each with its event in the gate's memory; further ones are refused. */
const queueMax = 1_000;

export function openActionProcess(given: {
  program: Program;
  limits: Limits;
  /** The command prefix (network-namespace.ts). */
  prefix: () => Promise<string[]>;
  outside: AskOutside;
  now?: (() => number) | undefined;
}): ActionProcess {
  const { limits, now = Date.now } = given;
  let running: Promise<Launched> | undefined;
  let isClosed = false;
  let last = 0;
  /** Consecutive ends, without a successful run in between. */
  let ends = 0;
  let startsAt = 0;
  /** Runs that wait for a start. */
  let early = 0;

  const start = async (): Promise<Launched> => {
    const started = launch(await given.prefix(), given, () => {
      running = undefined;
      ends += 1;
      startsAt = now() + pauseAfter(ends);
    });
    if (isClosed) started.end('crashed', 'the gate stops');
    return started;
  };
  return {
    async run(call) {
      if (isClosed) return failed('crashed', 'the gate stops');
      if (!running && now() < startsAt) return failed('paused', `its process ended ${ends} times in a row`);
      if (early >= queueMax) return failed('busy', `${queueMax} runs wait for its start`);
      early += 1;
      running ??= start();
      const process = await running.catch(() => undefined);
      // The system may have no descriptor left, so there is no event to wait for; the next run tries again.
      if (!process) running = undefined;
      const broken = await process?.loaded;
      early -= 1;
      if (!process) return failed('crashed', 'its process could not be started');
      if (broken) return broken;
      const { waiting, queue, socket } = process;
      last += 1;
      const run = last;
      const order: Order = { type: 'run', run, timeoutMs: limits.timeoutMs, ...call };
      const line = `${JSON.stringify(order)}\n`;
      if (line.length > lineMaxBytes / 4) return failed('too_large', 'the event is too large');
      if (queue.size >= queueMax) return failed('busy', `${queueMax} runs wait for their turn`);
      return new Promise((resolve) => {
        const late = () => process.end('timeout', `it took more than ${limits.timeoutMs} ms`);
        const settle = (ran: RunResult) => {
          if (ran.kind === 'done') ends = 0;
          resolve(ran);
        };
        const begin = () => {
          waiting.set(run, { resolve: settle, timer: setTimeout(late, limits.timeoutMs + graceMs) });
          socket.write(line);
        };
        if (waiting.size < runsMax) return begin();
        const refuse = () => {
          queue.delete(queued);
          resolve(failed('busy', `${runsMax} runs at the same time`));
        };
        const queued: Queued = { begin, resolve, timer: setTimeout(refuse, limits.timeoutMs) };
        queue.add(queued);
      });
    },
    [Symbol.dispose]() {
      isClosed = true;
      const end = (started: Launched) => started.end('crashed', 'the action was replaced, or the gate stops');
      running?.then(end, () => {}); // or it could not be started
    },
  };
}
