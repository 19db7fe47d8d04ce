/**
 * The programs that a command starts. Each runs in its own process group, so that Ctrl-C reaches only us and we decide the order
 * in which they end; on Linux the kernel also stops a server when we are killed outright.
 */
import { type SpawnOptions, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '@gatepost/testkit/until';
import which from 'which';
import type { Context } from '../commands/command.ts';
import { logFile, rootFolder } from './home.ts';
import { endOf, logEnd, Trouble } from './trouble.ts';

/** The first of `names` that is an executable file: absolute paths, or names looked up in PATH. */
export function findProgram(names: string[], path?: string): string | undefined {
  return names.flatMap((name) => which.sync(name, { path, nothrow: true }) ?? [])[0];
}

export type Child = AsyncDisposable & {
  pid: number;
  log: string; // where its output goes
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>; // never rejects
  hasExited(): boolean;
};

/** Besides Node's options, such as where it runs, and a `signal` that stops it. */
export type ChildOptions = SpawnOptions & {
  command: string;
  args: string[];
  log: string;
  /** Opens a channel, which also tells the child if we are gone. */
  onMessage?: (message: unknown) => void;
  /** Asks the program to stop; PostgreSQL's is SIGINT. */
  stopSignal?: NodeJS.Signals;
  stopDeadlineMs?: number;
};

/** Starts a server. Closing it ends its input, sends `stopSignal`, and kills it after `stopDeadlineMs`. */
export function startChild(options: ChildOptions): Child {
  const { command, args, log, onMessage, stopSignal = 'SIGTERM', stopDeadlineMs = 20_000, ...place } = options;
  const output = openSync(log, 'a', 0o600);
  // Services notice by their channel if we are gone.
  const { child, exited } = open([...(onMessage ? [] : endsWithUs(stopSignal)), command, ...args], {
    ...place,
    stdio: ['pipe', output, output, ...(onMessage ? (['ipc'] as const) : [])],
  });
  if (onMessage) child.on('message', onMessage);
  closeSync(output);
  return {
    pid: child.pid ?? 0,
    log,
    exited,
    hasExited: () => child.exitCode !== null || child.signalCode !== null,
    async [Symbol.asyncDispose]() {
      child.stdin?.destroy();
      if (!child.killed) child.kill(stopSignal); // to a service, a second signal means "at once"
      const firm = setTimeout(signalGroup, stopDeadlineMs, child.pid, 'SIGKILL');
      await exited;
      clearTimeout(firm);
    },
  };
}

/** A command prefix that makes the kernel end a program with its parent (setpriv of util-linux, Linux only). */
export const endsWithUs = (signal: NodeJS.Signals) =>
  findProgram(['setpriv']) ? ['setpriv', '--pdeathsig', signal, '--'] : [];

/** A server that others wait for; its log is named after it. */
type Server = Omit<ChildOptions, 'log'> & { name: string; letsIn(): Promise<boolean>; readyTimeoutMs?: number };
type Surroundings = Pick<Context, 'home' | 'stack' | 'signal'>;

/**
 * Returns a function that starts a server and waits until it lets us in. On failure it throws Trouble with the end of the log, leaves
 * nothing of the server, and may be called again. The stack closes the last one where it would close the first: a store that was started
 * again still ends after the services.
 */
export function launcher({ home, stack, signal }: Surroundings, { name, letsIn, readyTimeoutMs, ...server }: Server) {
  let last: Child | undefined;
  return async (): Promise<Child> => {
    signal.throwIfAborted();
    const log = logFile(home, name.toLowerCase().replace(' ', '-'));
    const child = startChild({ ...server, log });
    if (!last) stack.defer(() => last?.[Symbol.asyncDispose]());
    last = child;
    const probe = async () => (child.hasExited() ? 'ended while it was starting' : await letsIn());
    const outcome = await until(name, probe, readyTimeoutMs, signal).catch(() => 'did not start in time');
    if (outcome === true) return child;
    await child[Symbol.asyncDispose]();
    signal.throwIfAborted();
    // A service with a bad environment or seed (EX_CONFIG) says what to fix in plain lines beside its log.
    const isToMend = (await child.exited).code === 78;
    const end = logEnd(log).filter((line) => !isToMend || !line.startsWith('  {'));
    throw new Trouble(`${name} ${outcome}; the end of ${log}:`, ...end);
  };
}

/** A running program; `launch` restarts it and waits until it is ready. */
export type Supervised = { name: string; child: Child; launch(): Promise<Child> };

/**
 * Keeps a program running until `signal` aborts. Waits between lives double from 0.2 s; a life of a minute resets them.
 * @throws Trouble at the fifth death without such a life; a failed start counts as one
 */
export async function supervise({ name, child, launch }: Supervised, { say, signal }: Pick<Context, 'say' | 'signal'>) {
  let life: Child | undefined = child;
  for (let deaths = 1, from = performance.now(); ; deaths += 1) {
    const exit = await life?.exited;
    if (signal.aborted) return;
    if (performance.now() - from >= 60_000) deaths = 1;
    const how = exit ? `ended with ${exit.signal ?? `status ${exit.code}`}` : 'could not start';
    if (deaths === 5)
      throw new Trouble(`${name} died five times, at last it ${how}; the end of ${child.log}:`, ...logEnd(child.log));
    const waitMs = 100 * 2 ** deaths;
    say.about(name, `${how}; starting it again in ${waitMs / 1000} s`);
    await sleep(waitMs);
    from = performance.now();
    life = await launch().catch(() => undefined); // its log says why; the next turn counts it
    if (life) say.about(name, 'runs again');
  }
}

export type RunOptions = SpawnOptions & { show?: boolean };

/** How long a program, and all that it started, may take to clean up. */
const cleanUpMs = 10_000;

/**
 * Runs a program to its end. Resolves with its status, 127 if it cannot be started, and the end of its output, unless that is shown as it
 * comes (`show`). It is stopped at the timeout, and with all that it started when `signal` aborts: then the promise rejects.
 */
export async function runToEnd(command: string, args: string[], { show, signal, ...place }: RunOptions = {}) {
  signal?.throwIfAborted();
  const shown = show ? 'inherit' : 'pipe';
  const stdio: SpawnOptions['stdio'] = ['ignore', shown, shown];
  const { child, exited } = open([command, ...args], { cwd: rootFolder, ...place, stdio }, signal);
  let output = '';
  const keep = (text: unknown) => {
    output = (output + text).slice(-64_000);
  };
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', keep);
  child.once('error', ({ message }) => keep(message));
  await new Promise((resolve) => child.once('close', resolve));
  const exit = await exited;
  signal?.throwIfAborted();
  return { ...exit, output };
}

/** Runs a program to its end. @throws Trouble with `failure` and the end of its output if it fails */
export async function runWell(failure: string, command: string, args: string[], options: RunOptions): Promise<void> {
  const { code, output } = await runToEnd(command, args, options);
  if (code !== 0) throw new Trouble(failure, ...endOf(output));
}

/** Runs one of our own programs from source, with our output; true if it succeeded. */
export async function runShown(args: string[], options: RunOptions): Promise<boolean> {
  const flags = ['--conditions=source', '--disable-warning=ExperimentalWarning'];
  return (await runToEnd(process.execPath, [...flags, ...args], { ...options, show: true })).code === 0;
}

/** When `told` aborts, its whole group is told to stop: a shell would die at once and leave the others to be killed. */
function open([command = '', ...args]: string[], options: SpawnOptions, told?: AbortSignal) {
  const child = spawn(command, args, { ...options, detached: true });
  const { pid } = child;
  const kill = () => signalGroup(pid, 'SIGKILL');
  let firm: NodeJS.Timeout | undefined;
  const stop = () => {
    signalGroup(pid, 'SIGTERM');
    firm = setTimeout(kill, cleanUpMs);
  };
  process.once('exit', kill); // after a second Ctrl-C
  told?.addEventListener('abort', stop);
  const exited: Child['exited'] = new Promise((resolve) => {
    // It was told to stop (`AbortError`), or could not start: then no `exit` follows.
    child.on('error', () => pid ?? resolve({ code: 127, signal: null }));
    child.once('exit', async (code, signal) => {
      told?.removeEventListener('abort', stop);
      if (firm) await until('its group ends', () => !signalGroup(pid, 0), cleanUpMs).catch(() => {});
      clearTimeout(firm);
      // Kill the rest of its group: PostgreSQL does not restart while old sessions run.
      await until('its group is gone', () => !kill(), 500).catch(() => {});
      process.off('exit', kill);
      resolve({ code, signal });
    });
  });
  return { child, exited };
}

/** False if none of it is left. */
function signalGroup(pid: number | undefined, signal: NodeJS.Signals | 0): boolean {
  try {
    return pid ? process.kill(-pid, signal) : false;
  } catch {
    return false;
  }
}
