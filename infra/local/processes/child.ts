/**
 * The programs that a command starts. Each runs in its own process group, so that Ctrl-C reaches only us and we decide the order
 * in which they end; on Linux the kernel also stops a server when we are killed outright.
 */
import { type SpawnOptions, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import type { Context } from '../commands/command.ts';
import { logEnd, logFile, rootFolder } from './home.ts';
import { findProgram } from './programs.ts';
import { Trouble } from './trouble.ts';
import { waitFor } from './wait.ts';

export type Exit = { code: number | null; signal: NodeJS.Signals | null };

/** Where and as which user it runs; it is stopped when `signal` aborts. */
type Place = Pick<SpawnOptions, 'env' | 'cwd' | 'uid' | 'gid' | 'signal'>;

export type Child = AsyncDisposable & {
  pid: number;
  /** Where its output goes. */
  log: string;
  /** Never rejects. */
  exited: Promise<Exit>;
  hasExited(): boolean;
};

export type ChildOptions = Place & {
  command: string;
  args: string[];
  /** Output is appended here. */
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
  const { pid = 0 } = child;
  return {
    pid,
    log,
    exited,
    hasExited: () => child.exitCode !== null || child.signalCode !== null,
    async [Symbol.asyncDispose]() {
      child.stdin?.destroy();
      if (!child.killed) child.kill(stopSignal); // to a service, a second signal means "at once"
      const firm = setTimeout(killGroup, stopDeadlineMs, pid);
      await exited;
      clearTimeout(firm);
    },
  };
}

/** A command prefix that makes the kernel end a program with its parent (setpriv of util-linux, Linux only). */
export function endsWithUs(signal: string): string[] {
  const setpriv = findProgram(['setpriv']);
  return setpriv ? [setpriv, '--pdeathsig', signal.replace('SIG', ''), '--'] : [];
}

/** A server that others wait for; its log is named after it. */
type Server = Omit<ChildOptions, 'log'> & { name: string; letsIn(): Promise<boolean>; readyTimeoutMs?: number };

/**
 * Returns a function that starts a server and waits until it lets us in. On failure it throws Trouble with the end of the log, leaves
 * nothing of the server, and may be called again.
 */
export function launcher(
  { home, stack, signal }: Pick<Context, 'home' | 'stack' | 'signal'>,
  { name, letsIn, readyTimeoutMs = 120_000, ...server }: Server,
) {
  return async (): Promise<Child> => {
    signal.throwIfAborted();
    const log = logFile(home, name.toLowerCase().replace(' ', '-'));
    const child = stack.use(startChild({ ...server, log }));
    const probe = async () =>
      child.hasExited() ? 'ended while it was starting' : (await letsIn()) ? 'ready' : undefined;
    const outcome = (await waitFor(probe, readyTimeoutMs, signal)) ?? 'did not start in time';
    if (outcome === 'ready') return child;
    await child[Symbol.asyncDispose]();
    // A service with a bad environment or seed (EX_CONFIG) says what to fix in plain lines after its log.
    const isToMend = (await child.exited).code === 78;
    const end = logEnd(log).filter((line) => !isToMend || !line.startsWith('  {'));
    throw new Trouble(`${name} ${outcome}; the end of ${log}:`, ...end);
  };
}

export type RunOptions = Place & {
  deadlineMs?: number;
  /** Shows its output as it comes instead of keeping it. */
  show?: boolean;
};

/**
 * Runs a program to its end. Resolves with its status, 127 if it cannot be started, and the end of its output. It is stopped at the
 * deadline, and when `signal` aborts: then the promise rejects.
 */
export async function runToEnd(command: string, args: string[], options: RunOptions = {}) {
  const { deadlineMs, show = false, ...place } = options;
  place.signal?.throwIfAborted();
  const shown = show ? 'inherit' : 'pipe';
  const stdio: SpawnOptions['stdio'] = ['ignore', shown, shown];
  const { child, exited } = open([command, ...args], { cwd: rootFolder, timeout: deadlineMs, ...place, stdio });
  const closed = new Promise((resolve) => child.once('close', resolve));
  let output = '';
  const keep = (text: unknown) => {
    output = (output + text).slice(-64_000);
  };
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', keep);
  child.once('error', ({ message }) => keep(message));
  const exit = await exited;
  await closed;
  place.signal?.throwIfAborted();
  return { ...exit, output };
}

/** Flags with which Node runs our own programs from source. */
export const sourceFlags = ['--conditions=source', '--disable-warning=ExperimentalWarning'];

/** Runs one of our own programs with our output; true if it succeeded. */
export async function runShown(args: string[], options: RunOptions): Promise<boolean> {
  return (await runToEnd(process.execPath, [...sourceFlags, ...args], { ...options, show: true })).code === 0;
}

const alive = new Set<number>();

/** Kills everything we still have running, for a second Ctrl-C. */
export function killAll(): void {
  for (const pid of alive) killGroup(pid);
}

function open([command = '', ...args]: string[], options: SpawnOptions) {
  const child = spawn(command, args, { ...options, detached: true });
  const { pid } = child;
  if (pid) alive.add(pid);
  const exited = new Promise<Exit>((resolve) => {
    // It was told to stop (`AbortError`), or could not start: then no `exit` follows.
    child.on('error', () => pid ?? resolve({ code: 127, signal: null }));
    child.once('exit', async (code, signal) => {
      // Kill the rest of its group: PostgreSQL does not restart while old sessions run.
      await waitFor(() => !killGroup(pid) || undefined, 500);
      alive.delete(pid!); // a process that ended had one
      resolve({ code, signal });
    });
  });
  return { child, exited };
}

/** False if none of it is left. */
function killGroup(pid: number | undefined): boolean {
  try {
    return pid ? process.kill(-pid, 'SIGKILL') : false;
  } catch {
    return false;
  }
}
