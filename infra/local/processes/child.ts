/**
 * The programs that a command starts. Each runs in a process group of its own, so that Ctrl-C reaches only us and we decide the
 * order of the ends; on Linux the kernel also ends a server when we are killed outright.
 */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { rootFolder } from './home.ts';
import { findProgram } from './programs.ts';
import { waitFor } from './wait.ts';

export type Exit = { code: number | null; signal: NodeJS.Signals | null };

type Place = { env?: NodeJS.ProcessEnv; cwd?: string; uid?: number; gid?: number };

export type Child = AsyncDisposable & {
  name: string;
  pid: number;
  /** Where its output goes. */
  log: string;
  process: ChildProcess;
  /** Never rejects. */
  exited: Promise<Exit>;
  hasExited(): boolean;
};

export type ChildOptions = Place & {
  name: string;
  command: string;
  args: string[];
  /** Output is appended here. */
  log: string;
  /** Opens a channel, for 'ready' and to tell the child when we are gone. */
  ipc?: boolean;
  /** The program's polite way to stop; PostgreSQL's is SIGINT. */
  stopSignal?: NodeJS.Signals;
  stopDeadlineMs?: number;
};

const alive = new Set<number>();

/** Starts a server. Closing it stops it politely, then firmly after `stopDeadlineMs` (10 s). */
export function startChild(options: ChildOptions): Child {
  const { name, command, args, log, ipc = false, stopSignal = 'SIGTERM', stopDeadlineMs = 10_000, ...place } = options;
  const output = openSync(log, 'a', 0o600);
  // Services notice by their channel that we are gone.
  const wrapper = ipc ? [] : endsWithUs(stopSignal);
  const { child, exited } = open([...wrapper, command, ...args], {
    ...place,
    stdio: ['ignore', output, output, ...(ipc ? (['ipc'] as const) : [])],
  });
  closeSync(output);
  return {
    name,
    pid: child.pid ?? 0,
    log,
    process: child,
    exited,
    hasExited: () => child.exitCode !== null || child.signalCode !== null,
    [Symbol.asyncDispose]: () => stop(child, exited, stopSignal, stopDeadlineMs),
  };
}

/** What goes before a command to have the kernel end it with its parent, however that ends: util-linux on Linux, else nothing. */
export function endsWithUs(signal: string): string[] {
  const setpriv = findProgram(['setpriv']);
  return setpriv ? [setpriv, '--pdeathsig', signal.replace('SIG', ''), '--'] : [];
}

export type Group = AsyncDisposable & { use<T extends AsyncDisposable>(member: T): T };

/** A set of things that are closed at the same time. */
export function openGroup(): Group {
  const members = new Set<AsyncDisposable>();
  return {
    use(member) {
      members.add(member);
      return member;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...members].map((member) => member[Symbol.asyncDispose]()));
    },
  };
}

export type RunOptions = Place & {
  signal?: AbortSignal;
  deadlineMs?: number;
  /** Its output is shown as it comes instead of being kept. */
  show?: boolean;
};

/**
 * Runs a program to its end. Resolves with its status, 127 if it cannot be started, and the end of what it printed. It is stopped when
 * the deadline passes, and when `signal` aborts: the promise rejects then.
 */
export async function runToEnd(
  command: string,
  args: string[],
  { signal, deadlineMs, show = false, ...place }: RunOptions = {},
): Promise<Exit & { output: string }> {
  signal?.throwIfAborted();
  const shown = show ? 'inherit' : 'pipe';
  const { child, exited } = open([command, ...args], { cwd: rootFolder, ...place, stdio: ['ignore', shown, shown] });
  const closed = new Promise((resolve) => child.once('close', resolve));
  let output = '';
  const keep = (text: unknown) => {
    output = (output + text).slice(-64_000);
  };
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', keep);
  child.once('error', ({ message }) => keep(message));
  const end = () => void stop(child, exited, 'SIGTERM', 20_000);
  signal?.addEventListener('abort', end, { once: true });
  const deadline = deadlineMs === undefined ? undefined : setTimeout(end, deadlineMs);
  const exit = await exited;
  await closed;
  clearTimeout(deadline);
  signal?.removeEventListener('abort', end);
  signal?.throwIfAborted();
  return { ...exit, output };
}

/** Before one of our own programs, which Node runs from its source. */
export const sourceFlags = ['--conditions=source', '--disable-warning=ExperimentalWarning'];

/** Runs one of our own programs with our output; true if it ended well. */
export async function runShown(args: string[], options: RunOptions): Promise<boolean> {
  return (await runToEnd(process.execPath, [...sourceFlags, ...args], { ...options, show: true })).code === 0;
}

/** Ends whatever we still have running, at once: the last resort of a second Ctrl-C. */
export function killAll(): void {
  for (const pid of alive) killGroup(pid);
}

function open([command = '', ...args]: string[], options: SpawnOptions) {
  const child = spawn(command, args, { ...options, detached: true });
  const { pid } = child;
  if (pid !== undefined) alive.add(pid);
  const exited = new Promise<Exit>((resolve) => {
    child.once('error', () => resolve({ code: 127, signal: null }));
    child.once('exit', async (code, signal) => {
      // What it has left of its group goes with it: PostgreSQL does not start again beside its old sessions.
      if (pid !== undefined) await waitFor(() => (killGroup(pid) ? undefined : true), 500);
      if (pid !== undefined) alive.delete(pid);
      resolve({ code, signal });
    });
  });
  return { child, exited };
}

async function stop(child: ChildProcess, exited: Promise<Exit>, signal: NodeJS.Signals, deadlineMs: number) {
  child.kill(signal);
  const firm = setTimeout(() => child.pid !== undefined && killGroup(child.pid), deadlineMs);
  await exited;
  clearTimeout(firm);
}

/** False if nothing of it is left. */
function killGroup(pid: number): boolean {
  try {
    return process.kill(-pid, 'SIGKILL');
  } catch {
    return false;
  }
}
