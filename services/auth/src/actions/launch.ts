/**
 * The process of an action (worker/main.ts): how it is started and what its messages do. It is ended when it does not answer in time, grows
 * too large, or sends an invalid message.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AskOutside } from './outside.ts';
import { reportShape } from './report-shape.ts';
import { residentBytes } from './resident.ts';
import { type FaultReason, failed, type RunResult } from './run-result.ts';
import { lineMaxBytes, type Order, type Packages, type Report, readLines } from './worker/messages.ts';
import { workerFiles } from './worker-files.ts';

export type Limits = {
  /** Per run. */
  timeoutMs: number;
  /** For the heap; the process as a whole may use `beyondHeap` more. */
  memoryBytes: number;
};

/** The code that a process runs. */
export type Program = {
  code: string;
  secrets: Record<string, string>;
  /** The npm packages that it names, and where they are (packages.ts). */
  packages?: Packages | undefined;
};

/** How many runs one process has at a time; further ones wait for their turn. */
export const runsMax = 100;
/** As many as runs: a burst of sign-ins that fetch is not refused, and no action takes up another one's share. */
const fetchesMax = runsMax;
/** `auth0` alone has 755 files: 1.3 s on two busy cores. */
const startMs = 20_000;
/** The process ends late runs by itself, unless its event loop is blocked. */
export const graceMs = 500;
const watchMs = 50;
/** For requests in progress, and for answers that a process has not read: both are held in the gate's own memory. */
const heldMaxBytes = 16 * 1024 * 1024;
/** Each refused request costs the gate at least as much as reading this many bytes. */
const refusalBytes = 2_048;
const beyondHeap = 128 * 1024 * 1024;

type Waiting = { resolve(ran: RunResult): void; timer: NodeJS.Timeout };
export type Queued = Waiting & { begin(): void };
export type Launched = {
  child: ChildProcess;
  socket: Duplex;
  loaded: Promise<RunResult | undefined>;
  waiting: Map<number, Waiting>;
  /** Empty unless as many as may are running. */
  queue: Set<Queued>;
  isLoading: boolean;
  /** A run that timed out is still going on in the process. */
  isStale: boolean;
  /** Called with the answer to a ping, if there is one to answer. */
  answered?: (() => void) | undefined;
  end(reason: FaultReason, message: string): void;
};

export function launch(
  prefix: string[],
  given: { program: Program; limits: Limits; outside: AskOutside },
  gone: () => void,
): Launched {
  const { program, limits } = given;
  const { code, secrets, packages } = program;
  const [command, ...args] = [...prefix, process.execPath, ...flags(limits, packages)] as [string, ...string[]];
  const child = spawn(command, args, { env: {}, cwd: '/', stdio: ['ignore', 'ignore', 'ignore', 'pipe'] });
  // Out of descriptors, Node makes no socket, and reports the error a moment later.
  if (!child.stdio) {
    child.on('error', () => {});
    throw new Error('no descriptor is left');
  }
  const socket = child.stdio[3] as Duplex;
  const { promise: loaded, resolve: settle } = Promise.withResolvers<RunResult | undefined>();
  const waiting: Launched['waiting'] = new Map();
  const queue: Launched['queue'] = new Set();
  const stopping = new AbortController();
  const end = (reason: FaultReason, message: string): void => {
    if (stopping.signal.aborted) return;
    stopping.abort();
    gone();
    child.kill('SIGKILL');
    socket.destroy();
    settle(failed(reason, message));
    for (const { resolve, timer } of [...waiting.values(), ...queue]) {
      clearTimeout(timer);
      resolve(failed(reason, message));
    }
    waiting.clear();
    queue.clear();
  };
  const running: Launched = { child, socket, loaded, waiting, queue, isLoading: true, isStale: false, end };
  const send = (order: Order): void => {
    if (stopping.signal.aborted) return;
    // As bytes, which do not count against the gate's heap.
    if (socket.writableLength > heldMaxBytes) end('too_large', 'it does not read what it asked for');
    else socket.write(Buffer.from(`${JSON.stringify(order)}\n`));
  };

  child.on('error', () => end('crashed', 'its process could not be started'));
  child.on('exit', (code) => end('crashed', `its process ended (${code ?? 'killed'})`));
  socket.on('error', () => end('crashed', 'its process does not listen'));
  const ask = makeAsk(given, { signal: stopping.signal, tell: send, end });
  const onLine = (line: string) => handleReport(running, settle, line, ask);
  socket.on(
    'data',
    readLines(onLine, () => end('too_large', `it answered with more than ${lineMaxBytes} bytes`)),
  );
  const slow = setTimeout(() => end('timeout', 'it did not start in time'), startMs);
  void loaded.then(() => clearTimeout(slow));
  void watchMemory(running, limits, stopping.signal);
  void watchIdle(running, limits, { signal: stopping.signal, send });
  send({ type: 'load', code, secrets, ...(packages && { packages }) });
  return running;
}

/** Performs the code's requests within one process's bounds; a process that keeps exceeding them is ended. */
function makeAsk(
  { limits, outside }: { limits: Limits; outside: AskOutside },
  { signal, tell, end }: { signal: AbortSignal; tell: (order: Order) => void } & Pick<Launched, 'end'>,
) {
  let inFlight = 0;
  let asked = 0;
  let refused = 0;
  return (request: Parameters<AskOutside>[0], number: number): void => {
    const { length: bytes } = request.body ?? '';
    const isTooMany = inFlight >= fetchesMax;
    if (isTooMany || asked + bytes > heldMaxBytes) {
      refused += Math.max(bytes, refusalBytes);
      const most = isTooMany ? `${fetchesMax} requests` : `${heldMaxBytes} bytes`;
      if (refused > heldMaxBytes) end('too_large', 'it asks for more than it may, again and again');
      else tell({ type: 'fetch failed', fetch: number, message: `more than ${most} at the same time` });
      return;
    }
    inFlight += 1;
    asked += bytes;
    const answered = outside(request, { signal, timeoutMs: limits.timeoutMs }).then(
      (answer) => tell({ type: 'fetched', fetch: number, answer }),
      (error: unknown) => tell({ type: 'fetch failed', fetch: number, message: reasonOf(error) }),
    );
    void answered.finally(() => {
      inFlight -= 1;
      asked -= bytes;
      refused = 0;
    });
  };
}

function flags({ memoryBytes }: Limits, packages: Packages | undefined): string[] {
  const { main, folder, manifest } = workerFiles();
  return [
    '--permission',
    `--allow-fs-read=${folder}*`,
    `--allow-fs-read=${manifest}`,
    ...(packages ? [`--allow-fs-read=${packages.folder}/*`] : []),
    '--disallow-code-generation-from-strings',
    '--no-addons',
    '--no-warnings',
    `--max-old-space-size=${Math.ceil(memoryBytes / 1024 / 1024)}`,
    '--max-semi-space-size=2',
    main,
  ];
}

/** Handles a message from the process, if it is a valid one. */
function handleReport(
  running: Launched,
  settle: (ran: RunResult | undefined) => void,
  line: string,
  ask: (request: Parameters<AskOutside>[0], number: number) => void,
): void {
  const report = parseReport(line);
  if (!report) {
    running.end('crashed', 'it said what makes no sense');
    return;
  }
  switch (report.type) {
    case 'loaded':
    case 'broken':
      if (!running.isLoading) {
        running.end('crashed', 'it answered what nobody asked');
        return;
      }
      running.isLoading = false;
      settle(report.type === 'loaded' ? undefined : failed('broken', report.message));
      return;
    case 'fetch':
      ask(report.request, report.fetch);
      return;
    case 'pong':
      if (running.answered) running.answered();
      else running.end('crashed', 'it answered what nobody asked');
      return;
    case 'failed':
    case 'done': {
      const waiting = running.waiting.get(report.run);
      if (!waiting) {
        running.end('crashed', 'it answered what nobody asked');
        return;
      }
      running.waiting.delete(report.run);
      clearTimeout(waiting.timer);
      beginNext(running.queue);
      const { output } = report;
      waiting.resolve(
        report.type === 'done'
          ? { kind: 'done', commands: report.commands, output }
          : failed(report.reason, report.message, output),
      );
      if (report.type === 'failed' && report.reason === 'timeout') running.isStale = true;
      if (running.isStale && running.waiting.size === 0) running.end('crashed', 'a run of it did not end');
    }
  }
}

function beginNext(queue: Launched['queue']): void {
  const [queued] = queue;
  if (!queued) return;
  queue.delete(queued);
  clearTimeout(queued.timer);
  queued.begin();
}

function parseReport(line: string): Report | undefined {
  try {
    return reportShape.parse(JSON.parse(line)) as Report;
  } catch {
    return undefined;
  }
}

/** The heap has its own limit; memory beside it, such as buffers, has none. */
async function watchMemory(running: Launched, { memoryBytes }: Limits, signal: AbortSignal): Promise<void> {
  const { child, waiting, end } = running;
  while (!signal.aborted && child.pid !== undefined) {
    const bytes = await residentBytes(child.pid).catch(() => 0); // unknown for a moment
    if (bytes === undefined) return; // not on this system
    if (bytes > memoryBytes + beyondHeap) return end('memory', 'its process has grown too large');
    // An idle process does not grow.
    await sleep(waiting.size > 0 || running.isLoading ? watchMs : watchMs * 10, undefined, { ref: false });
  }
}

/** Each run has its timer; what an action left behind, such as a loop in a timer, shows when the process no longer answers. */
async function watchIdle(
  running: Launched,
  { timeoutMs }: Limits,
  { signal, send }: { signal: AbortSignal; send: (order: Order) => void },
): Promise<void> {
  const { loaded, waiting, end } = running;
  await loaded;
  for (;;) {
    await sleep(timeoutMs, undefined, { ref: false });
    if (signal.aborted) return;
    if (waiting.size > 0) continue;
    const { promise: answer, resolve } = Promise.withResolvers<'pong'>();
    running.answered = () => resolve('pong');
    send({ type: 'ping' });
    const outcome = await Promise.race([answer, sleep(timeoutMs + graceMs, 'late', { ref: false })]);
    running.answered = undefined;
    if (outcome === 'late') return end('timeout', 'it does not answer between its runs');
  }
}

function reasonOf(error: unknown): string {
  const { message, code } = (error ?? {}) as { message?: unknown; code?: unknown };
  return String(message || code || 'no answer').slice(0, 300);
}
